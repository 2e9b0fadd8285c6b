/** The whole schedule language through the API: what is stored, what is shown, and that it fires. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const node = await startTestNode(database)

const action = { type: 'sleep', duration: '0s' }
const create = async (task: Record<string, unknown>) => {
  const { status, body } = await node.request('POST', '/v1/tasks', { action, ...task })
  expect(status, JSON.stringify(body)).toBe(201)
  return body
}
const preview = async (request: Record<string, unknown>) =>
  (await node.request('POST', '/v1/schedules/preview', request)).body

const weekday = { type: 'cron', expression: '0 9 * * MON-FRI', timezone: 'Europe/Vienna' }
const saturday = { type: 'cron', expression: '0 10 * * SAT', timezone: 'Europe/Vienna' }

test('a list of triggers is shown as the type several, and a list of one as its only trigger', async () => {
  const both = await create({ schedule: [weekday, saturday] })
  const one = await create({ schedule: [weekday] })

  expect(both.schedule).toEqual({ type: 'several', triggers: [weekday, saturday] })
  expect(both.timezone).toBe('Europe/Vienna')
  expect(one.schedule).toEqual(weekday)
  const { status, body } = await node.request('PATCH', `/v1/tasks/${both.id}`, { schedule: both.schedule })
  expect([status, body.schedule]).toEqual([200, both.schedule])
})

test('an instant that several triggers share runs once, and startAt and maxRuns apply to all triggers', async () => {
  // Long enough for the request to arrive before it, also on a busy machine.
  const base = Date.now() + 5_000
  const at = (ms: number) => new Date(base + ms).toISOString()
  const task = await create({
    schedule: [
      { type: 'once', at: at(0) },
      { type: 'dates', dates: [at(0), at(60), at(120), at(180)] },
      { type: 'every', interval: '60ms', anchor: at(0) },
    ],
    overlap: 'allow',
    startAt: at(0),
    maxRuns: 3,
  })
  expect(task.nextFireAt).toBe(at(0))

  const runs = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${task.id}`)
    if (body.state !== 'finished') return undefined
    return (await node.request('GET', `/v1/tasks/${task.id}/runs`)).body.items
  })

  expect(runs.map((run: { scheduledFor: string }) => run.scheduledFor).sort()).toEqual([
    at(0),
    at(60),
    at(120),
  ])
})

test('H depends on the key, stays the same through edits, and can be previewed', async () => {
  const schedule = { type: 'cron', expression: 'H H * * *', timezone: 'UTC' }
  const task = await create({ key: 'nightly', schedule })
  const before = await preview({ schedule, seed: 'nightly', count: 1 })

  const { body: renamed } = await node.request('PATCH', `/v1/tasks/${task.id}`, { key: 'renamed', name: 'x' })
  const { body: moved } = await node.request('PATCH', `/v1/tasks/${task.id}`, {
    schedule: { ...schedule, expression: 'H H * * MON-SUN' },
  })

  expect(task.seed).toBe('nightly')
  expect(task.nextFireAt).toBe(before.occurrences[0].at)
  expect([renamed.seed, moved.seed]).toEqual(['nightly', 'nightly'])
  expect(moved.nextFireAt).toBe(task.nextFireAt)
})

test('without a key H depends on the id, and a schedule without H has no seed', async () => {
  const task = await create({ schedule: { type: 'cron', expression: 'H H 1 1 *' } })
  const plain = await create({ schedule: weekday, key: 'plain' })

  const { occurrences } = await preview({ schedule: task.schedule, seed: task.id, count: 1 })

  expect(task.seed).toBe(task.id)
  expect(occurrences[0].at).toBe(task.nextFireAt)
  expect(plain.seed).toBeNull()
})

test('a preview merges several triggers into one list, with the notes on each', async () => {
  const schedule = [
    { type: 'daily', hour: 2, minute: 30, timezone: 'Europe/Berlin' },
    { type: 'dates', dates: ['2027-03-28T02:15', '2027-03-28T12:00'], timezone: 'Europe/Berlin' },
  ]

  const shown = await preview({ schedule, from: '2027-03-28T00:00:00Z', count: 3 })

  expect(shown.occurrences.map(({ at }: { at: string }) => at)).toEqual([
    '2027-03-28T01:00:00.000Z',
    '2027-03-28T10:00:00.000Z',
    '2027-03-29T00:30:00.000Z',
  ])
  expect(shown.notes.slice(0, 2).map(({ wall }: { wall: string }) => wall)).toEqual([
    '2027-03-28T02:15',
    '2027-03-28T02:30',
  ])
})

test('words are stored as the schedule that they mean', async () => {
  const task = await create({ schedule: 'every weekday at 9:00 (Europe/Vienna)' })
  const { body: edited } = await node.request('PATCH', `/v1/tasks/${task.id}`, {
    schedule: 'last day of the month 18:00; every saturday at 10:00',
  })

  expect(task.schedule).toEqual(weekday)
  expect(edited.schedule).toEqual({
    type: 'several',
    triggers: [
      { type: 'cron', expression: '0 18 L * *', timezone: 'UTC' },
      { type: 'cron', expression: '0 10 * * SAT', timezone: 'UTC' },
    ],
  })
})

test('words are read in the time zone that comes with them', async () => {
  const task = await create({
    schedule: { type: 'words', words: 'weekdays at 9', timezone: 'europe/vienna' },
  })
  const shown = await preview({
    schedule: { type: 'words', words: 'daily at 9am in Tokyo', timezone: 'UTC' },
  })

  expect(task.schedule).toEqual(weekday)
  expect(shown.schedule).toEqual({ type: 'daily', hour: 9, minute: 0, timezone: 'Asia/Tokyo' })
})

test('unreadable words and an unknown time zone are refused, each at its own field', async () => {
  const refusal = async (schedule: unknown) =>
    (await node.request('POST', '/v1/schedules/preview', { schedule })).body.errors[0]

  expect(await refusal({ type: 'words', words: 'monday at 9' })).toMatchObject({
    pointer: '/schedule/words',
    detail: expect.stringContaining('The closest supported form is "every monday at 9:00"'),
  })
  expect(await refusal({ type: 'words', words: 'daily', timezone: 'Mars/Olympus' })).toMatchObject({
    pointer: '/schedule/timezone',
    detail: expect.stringContaining('is not a known time zone'),
  })
})

test('time zones are stored in their proper spelling, and abbreviations get a note', async () => {
  const task = await create({ schedule: { ...weekday, timezone: 'EUROPE/vienna' } })
  const { notes } = await preview({ schedule: { ...weekday, timezone: 'CET' } })

  expect(task.schedule.timezone).toBe('Europe/Vienna')
  expect(notes).toContainEqual({
    at: null,
    wall: null,
    kind: 'zone',
    note: expect.stringContaining('CET is an abbreviation and is interpreted as Europe/'),
  })
})

test('a preview translates words into a schedule, and its description can be read back', async () => {
  const shown = await preview({ schedule: 'every 15 minutes between 8 and 18 on weekdays', count: 1 })

  expect(shown.schedule).toEqual({ type: 'cron', expression: '*/15 8-17 * * MON-FRI', timezone: 'UTC' })
  expect(shown.description).toBe('Every 15 minutes between 8 and 18, on weekdays (UTC)')
  expect((await preview({ schedule: shown.description })).schedule).toEqual(shown.schedule)
})

test('"in 10 minutes" counts from the request', async () => {
  const before = Date.now()

  const task = await create({ schedule: 'in 10 minutes' })

  const ahead = Date.parse(task.schedule.at) - before
  expect(task.schedule.type).toBe('once')
  expect(Math.abs(ahead - 600_000)).toBeLessThan(60_000)
})

test('jitter delays the start and changes neither scheduledFor nor lateness', async () => {
  // Both requests must arrive before it, also on a busy machine.
  const at = new Date(Date.now() + 5_000).toISOString()
  const schedule = { type: 'dates', dates: [at, new Date(Date.parse(at) + 700).toISOString()] }
  const task = await create({ key: 'spread', schedule, jitter: '400ms' })
  const { occurrences } = await preview({
    schedule,
    jitter: '400ms',
    seed: 'spread',
    from: new Date().toISOString(),
  })
  const firesAt = new Map(
    occurrences.map((o: { at: string; firesAt: string }) => [o.at, Date.parse(o.firesAt)]),
  )

  const runs: { scheduledFor: string; startedAt: string; latenessMs: number }[] = await eventually(
    async () => {
      const { body } = await node.request('GET', `/v1/tasks/${task.id}/runs`)
      return body.items.filter((run: { endedAt: string | null }) => run.endedAt).length === 2
        ? body.items
        : undefined
    },
  )

  expect(task).toMatchObject({ jitter: '400ms', seed: 'spread', nextFireAt: at })
  expect(runs.map((run) => run.scheduledFor).sort()).toEqual(schedule.dates)
  for (const { scheduledFor, startedAt, latenessMs } of runs) {
    const due = firesAt.get(scheduledFor) as number
    expect(due).toBeGreaterThanOrEqual(Date.parse(scheduledFor))
    expect(due).toBeLessThanOrEqual(Date.parse(scheduledFor) + 400)
    expect(latenessMs).toBeGreaterThanOrEqual(0)
    expect(Math.abs(Date.parse(startedAt) - due - latenessMs)).toBeLessThanOrEqual(2)
  }
})

test('jitter can be removed, and is refused for a manual schedule', async () => {
  const task = await create({ schedule: weekday, jitter: '10m' })
  const change = (edit: unknown) => node.request('PATCH', `/v1/tasks/${task.id}`, edit)

  const refused = await change({ schedule: { type: 'manual' } })
  const { body: changed } = await change({ schedule: { type: 'manual' }, jitter: null })

  expect(refused.status).toBe(422)
  expect(refused.body.errors[0]).toMatchObject({ pointer: '/jitter' })
  expect(changed).toMatchObject({ jitter: null, seed: task.id })
})
