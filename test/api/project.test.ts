/** The limits that a project sets for the schedules of its tasks, and who sends their messages. */
import { afterEach, expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })

const action = { type: 'sleep', duration: '0s' }
const create = (task: Record<string, unknown>) => send('POST', '/v1/tasks', { action, ...task })
const limit = (limits: Record<string, unknown>) => send('PATCH', '/v1/projects/default', { limits })
afterEach(() => limit({ minPeriod: null, maxAhead: null }))

const hourly = { type: 'cron', expression: '0 * * * *' }
const day = (n: number) => new Date(Date.now() + n * 86_400_000).toISOString()

test('the limits of a project can be read and changed', async () => {
  const before = await send('GET', '/v1/projects/default')
  const after = await limit({ minPeriod: '1m', maxAhead: '30d' })
  const later = await limit({ maxAhead: null })

  expect(before.body).toMatchObject({ name: 'default', limits: { minPeriod: '10ms', maxAhead: null } })
  expect(after.body.limits).toMatchObject({ minPeriod: '1m', maxAhead: '30d' })
  expect(later.body.limits).toMatchObject({ minPeriod: '1m', maxAhead: null })
})

test('an unknown project cannot be read or edited', async () => {
  const read = await send('GET', '/v1/projects/other')
  const edited = await send('PATCH', '/v1/projects/other', { limits: { minPeriod: '1m' } })
  const after = await send('GET', '/v1/projects/default')

  expect([read, edited]).toMatchObject(
    Array(2).fill({ status: 404, body: { code: 'not_found', detail: 'Project other does not exist.' } }),
  )
  expect(after.body.limits.minPeriod).toBe('10ms')
})

test('a project can set its mail sender, or use that of the server', async () => {
  const mail = (fields: Record<string, unknown>) => send('PATCH', '/v1/projects/default', { mail: fields })
  const before = await send('GET', '/v1/projects/default')
  const named = await mail({ from: 'Ops <ops@example.com>', replyTo: 'help@example.com' })
  const partly = await mail({ replyTo: null })
  const refused = await mail({ from: 'ops@example.com\r\nBcc: all@example.com' })
  const after = await mail({ from: null })

  expect(before.body.mail).toEqual({ from: null, replyTo: null, server: null })
  expect(named.body).toMatchObject({
    mail: { from: 'Ops <ops@example.com>', replyTo: 'help@example.com' },
    limits: before.body.limits,
  })
  expect(partly.body.mail).toEqual({ from: 'Ops <ops@example.com>', replyTo: null, server: null })
  expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/mail/from' }] } })
  expect(after.body.mail).toEqual({ from: null, replyTo: null, server: null })
})

test('a project can allow private networks within those of the installation', async () => {
  const allow = (allowedPrivate: unknown, by = send) =>
    by('PATCH', '/v1/projects/default', { network: { allowedPrivate } })
  const { send: narrow } = await createTestApp({ db }, { privateReach: ['10.0.0.0/8'] })
  const before = await send('GET', '/v1/projects/default')
  const named = await allow(['10.1.0.0/16', '192.168.1.7'])
  const inside = await allow(['10.1.0.0/16'], narrow)
  const outside = await allow(['10.1.0.0/16', '192.168.1.7'], narrow)
  const wrong = await allow(['8.8.8.8', '169.254.169.254', 'localhost'])
  const none = await allow([])
  const after = await allow(null)

  expect(before.body.network).toEqual({ allowedPrivate: null })
  expect(named.body.network).toEqual({ allowedPrivate: ['10.1.0.0/16', '192.168.1.7/32'] })
  expect(inside.body.network).toEqual({ allowedPrivate: ['10.1.0.0/16'] })
  expect(outside).toMatchObject({
    status: 422,
    body: {
      errors: [
        { pointer: '/network/allowedPrivate/1', detail: expect.stringContaining('allows: 10.0.0.0/8') },
      ],
    },
  })
  expect(wrong.body.errors).toHaveLength(3)
  expect(none.body.network).toEqual({ allowedPrivate: [] })
  expect(after.body.network).toEqual({ allowedPrivate: null })
})

test('a project can set the retention of its history and audit log, or use that of the nodes', async () => {
  const keep = (retention: unknown) => send('PATCH', '/v1/projects/default', { retention })
  const before = await send('GET', '/v1/projects/default')
  const named = await keep({ history: '90d', auditLog: '36500d' })
  const partly = await keep({ history: '48h' })
  const listed = await send('GET', '/v1/projects')
  const entries = await send('GET', '/v1/audit-log?action=project.edit&limit=1')
  const kept = await send('GET', '/v1/audit-log?action=project.edit&scope=installation')
  const wrong = await keep({ history: '12h', auditLog: '36501d' })
  const odd = await keep({ history: '1d12h', auditLog: 90 })
  const nothing = await keep({})
  const unknown = await keep({ logs: '1d' })
  const stored = await send('GET', '/v1/projects/default')
  const after = await keep({ history: null, auditLog: null })

  expect(before.body.retention).toEqual({ history: null, auditLog: null })
  expect(named.body.retention).toEqual({ history: '90d', auditLog: '36500d' })
  expect(partly.body.retention).toEqual({ history: '2d', auditLog: '36500d' })
  expect(listed.body.items[0].retention).toEqual(partly.body.retention)
  expect(entries.body.items).toMatchObject([
    { before: { retention: { history: '90d' } }, after: { retention: { history: '2d' } } },
  ])
  expect(kept.body.items).toMatchObject([
    {
      subject: { kind: 'project', name: 'default' },
      before: { retention: { history: '90d', auditLog: '36500d' } },
      after: { retention: { history: '2d', auditLog: '36500d' } },
    },
    { before: { retention: { history: null, auditLog: null } } },
  ])
  expect(wrong).toMatchObject({
    status: 422,
    body: {
      errors: [
        { pointer: '/retention/history', detail: 'must be from 1d to 36500d' },
        { pointer: '/retention/auditLog', detail: expect.stringContaining('36500d') },
      ],
    },
  })
  expect(odd.body.errors).toMatchObject([
    { pointer: '/retention/history', detail: 'must be a whole number of days, such as 90d' },
    { pointer: '/retention/auditLog' },
  ])
  expect(nothing).toMatchObject({ status: 422, body: { errors: [{ pointer: '/retention' }] } })
  expect(unknown.status).toBe(422)
  expect(stored.body.retention).toEqual(partly.body.retention)
  expect(after.body.retention).toEqual({ history: null, auditLog: null })
})

test.each([
  [
    'a rate',
    { schedule: { type: 'every', interval: '59s' } },
    '/schedule/interval',
    'is due every 59s; the project allows at most one occurrence every 1m (limits.minPeriod)',
  ],
  ['a delay', { schedule: { type: 'delay', interval: '1s' } }, '/schedule/interval', 'is due every 1s'],
  [
    'a cron with seconds',
    { schedule: { type: 'cron', expression: '*/30 * * * * *' } },
    '/schedule',
    'is due every 30s',
  ],
  [
    'triggers close to one another',
    {
      schedule: [
        { type: 'dates', dates: [day(1), day(2)] },
        { type: 'once', at: day(1 + 30 / 86_400) },
      ],
    },
    '/schedule',
    'the project allows at most one occurrence every 1m',
  ],
  ['words', { schedule: 'every 10 seconds' }, '/schedule/interval', 'is due every 10s'],
  [
    'a rate too slow',
    { schedule: { type: 'every', interval: '31d' } },
    '/schedule/interval',
    'is due 31d apart; the project allows occurrences at most 30d ahead (limits.maxAhead)',
  ],
  [
    'once a year',
    { schedule: { type: 'cron', expression: '0 9 1 1 *' } },
    '/schedule',
    'apart; the project allows occurrences at most 30d ahead',
  ],
  [
    'once, far ahead',
    { schedule: { type: 'once', at: day(31) } },
    '/schedule/at',
    'the project allows occurrences at most 30d ahead',
  ],
  ['a start far ahead', { schedule: hourly, startAt: day(31) }, '/startAt', 'is first due in 31d'],
] as const)('%s beyond the limits is refused and nothing stored', async (_, task, pointer, says) => {
  await limit({ minPeriod: '1m', maxAhead: '30d' })

  const { status, body } = await create(task)

  expect([status, body.code]).toEqual([422, 'beyond_limits'])
  expect(body.errors[0].pointer).toBe(pointer)
  expect(body.errors[0].detail).toContain(says)
  expect(Object.keys(body.limit)).toHaveLength(1)
  expect((await send('GET', '/v1/tasks?limit=1')).body.items).toEqual([])
})

test('tasks within the limits are accepted', async () => {
  await limit({ minPeriod: '1m', maxAhead: '30d' })
  const tasks = [
    { schedule: hourly },
    { schedule: { type: 'every', interval: '1m' } },
    { schedule: { type: 'every', interval: '30d' } },
    { schedule: { type: 'once', at: day(29) } },
    { schedule: { type: 'manual' } },
    {},
  ]

  const answers = await Promise.all(tasks.map(create))

  expect(answers.map(({ status }) => status)).toEqual(tasks.map(() => 201))
  for (const { body } of answers) await send('DELETE', `/v1/tasks/${body.id}`)
})

test('an existing task keeps its schedule under new limits, but a new schedule must obey them', async () => {
  const { body: task } = await create({ schedule: { type: 'every', interval: '1s' } })
  await limit({ minPeriod: '1m' })

  const renamed = await send('PATCH', `/v1/tasks/${task.id}`, { name: 'as before' })
  const rescheduled = await send('PATCH', `/v1/tasks/${task.id}`, {
    schedule: { type: 'every', interval: '2s' },
  })
  const bulk = await send('POST', '/v1/tasks/bulk', {
    tasks: [{ action }, { action, schedule: { type: 'every', interval: '2s' } }],
  })

  expect(renamed.status).toBe(200)
  expect(rescheduled.body).toMatchObject({ code: 'beyond_limits', limit: { minPeriod: '1m' } })
  expect(bulk.body).toMatchObject({
    code: 'beyond_limits',
    errors: [{ pointer: '/tasks/1/schedule/interval' }],
  })
})

test.each([
  [{}, '', 'must name limits, mail, network or retention'],
  [{ limits: {} }, '/limits', 'must name at least one limit to change'],
  [{ limits: { minPeriod: '1ms' } }, '/limits/minPeriod', 'must be from 10ms to 3650d'],
  [{ limits: { minPeriod: '2d', maxAhead: '1d' } }, '/limits/minPeriod', 'must not be greater than maxAhead'],
  [{ limits: { period: '1m' } }, '/limits/period', 'is not a known field'],
])('%j is refused', async (body, pointer, says) => {
  const answer = await send('PATCH', '/v1/projects/default', body)

  expect(answer.status).toBe(422)
  expect(answer.body.errors[0].pointer).toContain(pointer)
  expect(answer.body.errors[0].detail).toContain(says)
  expect((await send('GET', '/v1/projects/default')).body.limits).toMatchObject({
    minPeriod: '10ms',
    maxAhead: null,
  })
})

test('triggers closer than the smallest interval are refused, even without a limit of the project', async () => {
  const { body } = await create({
    schedule: [
      { type: 'every', interval: '10ms', anchor: '2026-01-01T00:00:00Z' },
      { type: 'every', interval: '10ms', anchor: '2026-01-01T00:00:00.005Z' },
    ],
  })

  expect(body).toMatchObject({ code: 'beyond_limits', limit: { minPeriod: '10ms' } })
})
