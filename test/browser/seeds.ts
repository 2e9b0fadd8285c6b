/** Tasks to look at: a few that tell something, and many of all kinds. */

/** One whose zone is not the reader's. */
export const FAR_AWAY = 'rotate keys on the last day of each month, after everybody has gone home'

/** Each with how often to run it at once, and whether it is paused then. */
export const FIVE = (sink: string) => [
  {
    name: 'make thumbnails',
    action: { type: 'sleep', duration: '1h' },
    schedule: { type: 'manual' },
    tags: ['media'],
    pause: false,
    runs: 1,
  },
  {
    name: FAR_AWAY,
    action: { type: 'ping', url: `${sink}/rotate` },
    schedule: { type: 'cron', expression: '0 21 L * *', timezone: 'America/New_York' },
    pause: true,
    runs: 0,
  },
  {
    name: 'sync crm',
    action: {
      type: 'http',
      url: `${sink}/broken`,
      method: 'PUT',
      headers: { accept: 'application/json' },
      body: { region: 'eu' },
    },
    schedule: { type: 'every', interval: '15m' },
    retry: { limit: 2, initial: '200ms', max: '1s' },
    // Its runs end one after another, whatever the server answers.
    circuitBreaker: false,
    tags: ['prod', 'crm'],
    pause: false,
    runs: 3,
  },
  {
    name: 'send digest',
    action: { type: 'webhook', url: `${sink}/digest`, body: { to: 'everybody' } },
    schedule: { type: 'every', interval: '3s' },
    pause: false,
    runs: 0,
  },
  {
    name: 'nightly backup',
    key: 'nightly-backup',
    owner: 'ops',
    action: { type: 'webhook', url: `${sink}/backup`, body: { full: true, tables: ['orders', 'customers'] } },
    schedule: { type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin' },
    tags: ['prod', 'db'],
    pause: false,
    runs: 12,
  },
]

const ODD_NAMES = [
  '<b>not bold</b><script>alert(1)</script>',
  '💥🚀 launch the 👩‍👩‍👧‍👦 rocket',
  'שלום עולם, גיבוי לילי',
  'x'.repeat(200),
  'a name of many words that goes on and on, as people write them when nobody stops them, and then a bit further still',
  '数据库备份任务',
  '\u202enames that turn around\u202c',
]
const ZONES = ['Europe/Berlin', 'America/St_Johns', 'Asia/Kathmandu', 'Pacific/Chatham', 'UTC']

/** So many tasks, none of which does anything today. */
export function many(count: number): object[] {
  return Array.from({ length: count }, (_, n) => {
    const odd = n >= count - ODD_NAMES.length - 1 && n < count - 1
    return {
      name: odd ? ODD_NAMES[n - (count - ODD_NAMES.length - 1)] : `task ${n}`,
      action: { type: 'sleep', duration: '0s' },
      schedule:
        n % 3 === 0
          ? { type: 'manual' }
          : { type: 'cron', expression: `${n % 60} ${n % 24} 1 1 *`, timezone: ZONES[n % ZONES.length] },
      tags: odd ? ['odd', `שלום`, 'x'.repeat(60)] : [`group ${n % 20}`],
    }
  })
}
