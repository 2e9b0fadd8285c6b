import { expect, test } from 'vitest'
import { type ImportSettings, planImport } from './crontab-task.ts'
import { parseCrontab } from './parse-crontab.ts'

const SETTINGS: ImportSettings = {
  timezone: 'Europe/Berlin',
  prefix: 'web1',
  labels: [],
  retries: 0,
  timeout: '1d',
}

const plan = (lines: readonly string[], settings: Partial<ImportSettings> = {}, isSystem = false) =>
  planImport(parseCrontab(lines.join('\n'), { isSystem }).entries, { ...SETTINGS, ...settings })

test('a line becomes a task that behaves as the line did', () => {
  const { tasks, leftOut } = plan([
    'PATH=/usr/local/bin:/usr/bin',
    '# Nightly backup',
    '30 2 * * * /usr/local/bin/backup.sh --full%one%two',
  ])

  expect(leftOut).toEqual([])
  expect(tasks).toEqual([
    {
      line: 3,
      notes: [],
      input: {
        key: expect.stringMatching(/^web1:backup\.sh-[0-9a-f]{8}$/),
        name: 'Nightly backup',
        tags: ['crontab:web1'],
        action: {
          type: 'exec',
          command: '/bin/sh',
          args: ['-c', '/usr/local/bin/backup.sh --full'],
          env: { PATH: '/usr/local/bin:/usr/bin' },
          stdin: 'one\ntwo\n',
          network: true,
        },
        schedule: { type: 'cron', expression: '30 2 * * *', timezone: 'Europe/Berlin' },
        retry: { limit: 0 },
        timeout: '1d',
        overlap: 'allow',
        misfire: { policy: 'skip' },
        onWorkerLoss: 'fail',
      },
    },
  ])
})

test('the key depends on command, user and machine but not on the time, and repeated lines get a suffix', () => {
  const keyOf = (line: string, settings = {}, isSystem = false) =>
    plan([line], settings, isSystem).tasks[0]?.input.key
  const key = keyOf('0 1 * * * backup orders')

  const twice = plan(['0 1 * * * backup orders', '0 13 * * * backup orders']).tasks

  expect(keyOf('0 2 * * * backup orders')).toBe(key)
  expect(keyOf('0 1 * * * backup users')).not.toBe(key)
  expect(keyOf('0 1 * * * root backup orders', {}, true)).not.toBe(key)
  expect(keyOf('0 1 * * * backup orders', { prefix: 'web2' })).toMatch(/^web2:/)
  expect(twice.map(({ input }) => input.key)).toEqual([key, `${key}-2`])
})

test('zones come from CRON_TZ above the line, else from the settings', () => {
  const { tasks, leftOut } = plan([
    '0 1 * * * a',
    'CRON_TZ=:america/new_york',
    '0 1 * * * b',
    'CRON_TZ=Mars/Base',
    '0 1 * * * c',
  ])

  expect(tasks.map(({ input }) => input.schedule.timezone)).toEqual(['Europe/Berlin', 'America/New_York'])
  expect(leftOut).toEqual([
    {
      line: 5,
      text: '0 1 * * * c',
      reason: 'CRON_TZ is not a known time zone; use an IANA name such as Europe/Berlin or UTC',
    },
  ])
})

test('variables that configure cron itself are not passed to the command', () => {
  const [task] = plan([
    'SHELL=/bin/bash',
    'RANDOM_DELAY=30',
    'MAILFROM=cron@example.com',
    'LOGNAME=ada',
    'HOME=/srv/app',
    '* * * * * a',
  ]).tasks

  expect(task?.input).toMatchObject({
    action: { command: '/bin/bash', env: { HOME: '/srv/app' } },
    jitter: '30m',
  })
})

test('notes name what the import changes or leaves out', () => {
  const { tasks, leftOut } = plan(
    [
      'MAILTO=ops@example.com',
      'TZ=Asia/Tokyo',
      'PGPASSWORD=hunter2',
      'BELFRY_RUN_ID=1',
      '~ 3 * * * root backup',
      '@reboot root warm-up',
    ],
    {},
    true,
  )

  expect(tasks[0]?.notes.map(({ about, note }) => `${about}: ${note.split(/[:;]/)[0]}`)).toEqual([
    'mail: MAILTO=ops@example.com becomes the owner',
    'user: user root',
    'environment: TZ=Asia/Tokyo is set for the command. As under cron, it does not affect the schedule',
    'schedule: ~ becomes H',
    expect.stringMatching(/^secret: PGPASSWORD looks like a secret/),
    'environment: BELFRY_RUN_ID is left out',
  ])
  expect(tasks[0]?.notes[0]?.note).toContain(
    "belfry subscription create URL --state permanently_failed --owner 'ops@example.com'",
  )
  expect(tasks[0]?.input.owner).toBe('ops@example.com')
  expect(tasks[0]?.input.metadata).toEqual({ crontab: { user: 'root' } })
  expect(tasks[0]?.input.action).toMatchObject({ env: { TZ: 'Asia/Tokyo', PGPASSWORD: 'hunter2' } })
  expect(leftOut).toMatchObject([{ line: 6, reason: expect.stringContaining('no @reboot') }])
})

test('MAILTO needs no note if it is unset or empty', () => {
  const { tasks } = plan(['* * * * * a', 'MAILTO=""', '* * * * * b'])

  expect(tasks.flatMap(({ notes }) => notes)).toEqual([])
})
