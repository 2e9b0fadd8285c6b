/** Every operation with the largest input that it takes: none of them holds up the process that serves it. */
import { beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { MAX_HELD_MS } from './bounds.ts'
import { startWatchedNode } from './watched-node.ts'

/** A process that has done all of this, one after another, has grown by no more. */
const MAX_GROWTH_BYTES = 512 * 1024 * 1024

const { send, watch, db } = await startWatchedNode()

const ZONES = [
  ...['Europe/Berlin', 'America/New_York', 'Asia/Tehran', 'Africa/Cairo', 'Australia/Lord_Howe'],
  ...['America/Sao_Paulo', 'Pacific/Apia', 'Asia/Kathmandu', 'Europe/London', 'America/St_Johns'],
  ...['Asia/Tokyo', 'Africa/Casablanca', 'Pacific/Chatham', 'America/Caracas', 'Asia/Gaza'],
  ...['Atlantic/Azores', 'America/Havana', 'Europe/Istanbul', 'Asia/Kolkata', 'America/Santiago'],
]
const zoned = (expressionOf: (i: number) => string) =>
  ZONES.map((timezone, i) => ({ type: 'cron', expression: expressionOf(i), timezone }))
const secondsOfJanuary = zoned((i) => `${i}-59 * * * 1 *`)
const seconds = zoned((i) => `${i}-59 * * * * *`)
const leapDays = zoned((i) => `${i} 12 29 2 *`)
const dates = (century: number) => ({
  type: 'dates',
  timezone: ZONES[century],
  dates: Array.from(
    { length: 1_000 },
    (_, i) => `${2100 + century}-03-${10 + (i % 20)}T0${i % 10}:${10 + (i % 50)}`,
  ),
})
const action = { type: 'sleep', duration: '0s' }
const largeBody = { type: 'webhook', url: 'http://127.0.0.1:9/', body: 'x'.repeat(256 * 1024 - 2) }
const year = new Date().getUTCFullYear()
const later = (ms: number) => new Date(Date.now() + ms).toISOString()

const ids: Record<string, string> = {}
async function create(name: string, fields: object): Promise<void> {
  const { status, text } = await send('POST', '/v1/tasks', { name, action, ...fields })
  expect(status, text).toBe(201)
  ids[name] = JSON.parse(text).id
}

beforeAll(async () => {
  await create('january', { schedule: secondsOfJanuary })
  await create('seconds', { schedule: seconds, startAt: later(3_600_000) })
  await create('leap', { schedule: leapDays })
  await create('large', { action: largeBody, schedule: { type: 'manual' } })
  await create('paused', { schedule: seconds, startAt: later(3_600_000) })
  await create('edited', { schedule: { type: 'every', interval: '1h' } })
})

const at = (name: string, act = '') => `/v1/tasks/${ids[name]}${act}`

interface Operation {
  readonly name: string
  readonly status?: number
  before?(): Promise<unknown>
  act(): Promise<{ status: number; text: string }>
}

const backfill = (task: string, order: string, from: string, to: string) => () =>
  send('POST', at(task, '/backfill'), { from, to, order, dryRun: true })

const operations: Operation[] = [
  {
    name: 'a backfill of a January of seconds, newest first',
    status: 422,
    act: backfill('january', 'newest_first', `${year - 1}-01-01T00:00:00Z`, `${year - 1}-12-31T00:00:00Z`),
  },
  {
    name: 'a backfill of a January of seconds, oldest first',
    status: 422,
    act: backfill('january', 'oldest_first', `${year - 1}-01-01T00:00:00Z`, `${year - 1}-12-31T00:00:00Z`),
  },
  {
    name: 'a backfill of 18 000 occurrences',
    act: backfill('january', 'newest_first', `${year - 1}-01-01T00:00:00Z`, `${year - 1}-01-01T05:00:00Z`),
  },
  {
    name: 'a preview of 100 leap days in 20 zones',
    act: () =>
      send('POST', '/v1/schedules/preview', { schedule: leapDays, count: 100, jitter: '1d', seed: 'a' }),
  },
  {
    name: 'a preview of 20 000 dates',
    act: () =>
      send('POST', '/v1/schedules/preview', {
        schedule: ZONES.map((_, i) => dates(i)),
        count: 100,
        jitter: '1d',
      }),
  },
  { name: 'skipping 1000 leap days', act: () => send('POST', at('leap', '/skip-next'), { count: 1_000 }) },
  { name: 'taking that back', act: () => send('DELETE', at('leap', '/skip-next')) },
  {
    name: 'a ledger of 9 000 occurrences',
    act: () => send('GET', at('seconds', `/ledger?from=${later(0)}&to=${later(12_500_000)}`)),
  },
  {
    name: 'a ledger of leap days up to the year 2400',
    act: () => send('GET', at('leap', `/ledger?from=${later(0)}&to=2400-01-01T00:00:00Z`)),
  },
  { name: 'why', act: () => send('GET', at('leap', '/why')) },
  {
    name: 'the end of a pause of a month',
    before: async () => {
      await send('POST', at('paused', '/pause'), {})
      await send('PATCH', at('paused'), { startAt: null })
      await db.run(
        sql`update task set paused_at = now() - interval '30 days', updated_at = now() - interval '30 days' where id = ${ids['paused'] ?? ''}::uuid`,
      )
    },
    act: () => send('POST', at('paused', '/resume'), {}),
  },
  { name: 'an edit to 20 triggers', act: () => send('PATCH', at('edited'), { schedule: seconds }) },
  {
    name: 'an edit of the largest body',
    act: () =>
      send('PATCH', at('large'), {
        action: { ...largeBody, body: Array.from({ length: 100_000 }, () => 1) },
      }),
  },
  {
    name: 'the versions of a task with the largest bodies',
    act: () => send('GET', at('large', '/versions')),
  },
  {
    name: 'a run with the largest body of its own',
    status: 201,
    act: () =>
      send('POST', at('large', '/trigger'), {
        action: { body: 'y'.repeat(256 * 1024 - 2) },
        overlap: 'allow',
      }),
  },
  {
    name: '10 000 tasks at once',
    status: 201,
    act: () =>
      send('POST', '/v1/tasks/bulk', {
        tasks: Array.from({ length: 10_000 }, (_, i) => ({
          name: `t${i}`,
          action,
          schedule: { type: 'manual' },
        })),
      }),
  },
  {
    name: '32 MB of tasks at once',
    status: 201,
    act: () =>
      send('POST', '/v1/tasks/bulk', {
        tasks: Array.from({ length: 120 }, () => ({
          action: largeBody,
          tags: ['large'],
          schedule: { type: 'manual' },
        })),
      }),
  },
  {
    name: '100 tasks due every second by 20 triggers',
    status: 201,
    act: () =>
      send('POST', '/v1/tasks/bulk', {
        tasks: Array.from({ length: 100 }, (_, i) => ({
          action,
          schedule: zoned((n) => `${n}-${(i % 30) + 20} * * * * *`),
          startAt: later(1_800_000 + i * 1_000),
        })),
      }),
  },
  { name: 'the overview of the next hour', act: () => send('GET', '/v1/stats') },
  { name: 'a page of the largest tasks', act: () => send('GET', '/v1/tasks?tag=large&limit=200') },
  {
    name: 'a page of tasks with their next instants',
    act: () => send('GET', '/v1/tasks?limit=200&include=next,recent'),
  },
  { name: 'the description of the API', act: () => send('GET', '/openapi.json') },
]

describe('the event loop is not blocked by the largest input', () => {
  test.each(operations)('$name', async ({ status = 200, before, act }) => {
    await before?.()

    const { result, heldMs, grewBytes } = await watch(act)

    expect(result.status, result.text.slice(0, 500)).toBe(status)
    expect(heldMs).toBeLessThan(MAX_HELD_MS)
    expect(grewBytes).toBeLessThan(MAX_GROWTH_BYTES)
  })
})
