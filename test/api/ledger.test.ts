/** The ledger of a task, over the tables themselves: what was done to a task is accounted for, what was lost is seen. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { DAY_MS, makePastDays } from '../support/history.ts'
import { agendaOf, historyOf, movePause, moveWaiting } from './rows.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })
/** With a grace that is longer than any test takes. */
const patient = await createTestApp({ db }, { misfireGraceMs: 7_200_000 })
await makePastDays(db, 5)

const iso = (ms: number) => new Date(ms).toISOString()
const S = 1_000
const H = 3_600 * S
/** The latest instant of the hourly grid is half an hour ago, and the next half an hour away: none comes while a test runs. */
const GRID = Date.now() - H / 2
const hourly = { type: 'every', interval: '1h', anchor: iso(GRID) }
const action = { type: 'sleep', duration: '0s' }

/** A task that was made at an instant of the grid some time ago, due every hour since, with its waiting row where it belongs. */
async function aTaskOf(agoMs: number, body: Record<string, unknown> = {}) {
  const created = await send('POST', '/v1/tasks', { action, schedule: hourly, ...body })
  const id: string = created.body.id
  const madeAt = GRID - Math.ceil(agoMs / H) * H
  await db.run(sql`
    update task set created_at = to_timestamp(${madeAt}::float8 / 1000), updated_at = to_timestamp(${madeAt}::float8 / 1000) where id = ${id}`)
  return { id, madeAt }
}

/** Runs of a task that completed, one for each instant. */
async function ran(taskId: string, instants: readonly number[], { version = 1, firstOrdinal = 1 } = {}) {
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, kind, state, outcome)
    select gen_random_uuid(), t.id, t.project_id, to_timestamp(i.at / 1000), to_timestamp(i.at / 1000),
           to_timestamp(i.at / 1000) + interval '1 second', ${version}, ${firstOrdinal}::integer + i.n::integer - 1, 'occurrence', 'completed', 'completed'
    from task t, unnest(${`{${instants.join(',')}}`}::float8[]) with ordinality as i(at, n) where t.id = ${taskId}`)
}

const everyHour = (from: number, to: number) =>
  Array.from({ length: Math.max(0, Math.floor((to - from) / H)) }, (_, i) => from + (i + 1) * H)

const ledgerOf = async (id: string, query = '') => (await send('GET', `/v1/tasks/${id}/ledger${query}`)).body

test('completed, due and upcoming occurrences are accounted for', async () => {
  const { id, madeAt } = await aTaskOf(10 * H)
  const next = madeAt + 8 * H
  await ran(id, everyHour(madeAt, next - H))
  await moveWaiting(db, id, next)

  const ledger = await ledgerOf(id, `?to=${iso(GRID + 6 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true, historyFrom: null, nextCursor: null })
  expect(ledger.counts).toMatchObject({ ran: 7, missing: 0, doubled: 0 })
  expect(ledger.counts.due).toBe(3)
  expect(ledger.counts.upcoming).toBe(6)
  expect(ledger.accounted).toBe(ledger.expected)
  expect(ledger.items[0]).toMatchObject({ state: 'ran', at: iso(madeAt + H), runState: 'completed' })
  expect(ledger.items[0].runIds).toHaveLength(1)
})

test('lost rows and occurrences without a run are missing, and one with two runs is doubled', async () => {
  const { id, madeAt } = await aTaskOf(10 * H)
  const instants = everyHour(madeAt, madeAt + 6 * H)
  await ran(
    id,
    instants.filter((_, i) => i !== 2),
  )
  await ran(id, instants.slice(4, 5), { firstOrdinal: 5 })
  await db.run(sql`delete from agenda where task_id = ${id}`)

  const ledger = await ledgerOf(id, '?show=problems')

  expect(ledger).toMatchObject({ isInOrder: false, counts: { ran: 4, doubled: 1, unexpected: 0 } })
  expect(ledger.items.map(({ state, at }: { state: string; at: string }) => [state, at])).toEqual([
    ['missing', iso(instants[2] ?? 0)],
    ['doubled', iso(instants[4] ?? 0)],
    ['missing', iso(madeAt + 7 * H)],
  ])
  expect(ledger.items[1].runIds).toHaveLength(2)
  expect(ledger.accounted).toBe(ledger.expected - ledger.counts.missing)
})

test('a pause is accounted for while it lasts, afterwards, and across an edit', async () => {
  const { id, madeAt } = await aTaskOf(10 * H)
  await ran(id, everyHour(madeAt, madeAt + 2 * H))
  await moveWaiting(db, id, madeAt + 3 * H)
  await send('POST', `/v1/tasks/${id}/pause`)
  const [{ until = 0 } = {}] = (await historyOf(db, id)).filter(({ reason }) => reason === 'paused')
  expect(until).toBeGreaterThan(madeAt)
  await db.run(sql`delete from run where task_id = ${id} and reason = 'paused'`)
  await movePause(db, id, madeAt + 2.5 * H)

  const during = await ledgerOf(id)
  await send('PATCH', `/v1/tasks/${id}`, { name: 'renamed' })
  await send('POST', `/v1/tasks/${id}/resume`)
  const after = await ledgerOf(id)

  expect(during).toMatchObject({ isInOrder: true, counts: { ran: 2, missing: 0 } })
  expect(during.items.at(-1)).toMatchObject({ state: 'skipped', reason: 'paused', runIds: [] })
  expect(after).toMatchObject({ isInOrder: true, counts: { ran: 2, missing: 0, doubled: 0 } })
  expect(after.counts.skipped).toBeGreaterThanOrEqual(during.counts.skipped)
  expect(after.items.at(-1)).toMatchObject({ state: 'skipped', reason: 'paused' })
  expect(after.items.at(-1).runIds).toHaveLength(1)
})

/** A task of which nothing was fired since `madeAt`, and whether somebody watched meanwhile. */
async function overdue({ agoMs, isWatched = true, ...body }: Overdue) {
  const { id, madeAt } = await aTaskOf(agoMs, body)
  await moveWaiting(db, id, madeAt + H)
  const watchedUntil = isWatched ? Date.now() : madeAt
  await db.run(sql`update shard set watched_until = to_timestamp(${watchedUntil}::float8 / 1000)`)
  return { id, first: madeAt + H, missed: everyHour(madeAt, Date.now()) }
}

type Overdue = { agoMs: number; isWatched?: boolean } & Record<string, unknown>

const every7s = { type: 'every', interval: '7s', anchor: '2026-01-01T00:00:00Z' }
const inShort = (ledger: { items: { state: string; reason: string | null; count: number }[] }) =>
  ledger.items.map(({ state, reason, count }) => [state, reason, count])

test('an edit with due rows skips the older ones, runs the last as catch-up, and starts the new schedule', async () => {
  const { id, first, missed } = await overdue({ agoMs: 4.5 * H })
  const editedAt = Date.now()
  await send('PATCH', `/v1/tasks/${id}`, { schedule: every7s })

  const ledger = await ledgerOf(id, `?to=${iso(editedAt + 60 * S)}`)
  const live = await agendaOf(db, id)

  expect(ledger).toMatchObject({ isInOrder: true, counts: { missing: 0, unexpected: 0, doubled: 0 } })
  expect(inShort(ledger).slice(0, 2)).toEqual([
    ['skipped', 'edited', missed.length - 1],
    ['due', null, 1],
  ])
  expect(ledger.items[0]).toMatchObject({ at: iso(first), version: 1 })
  expect(live).toMatchObject([
    { kind: 'catchup', scheduledFor: missed.at(-1), version: 2, ordinal: 1 },
    { kind: 'occurrence', version: 2, ordinal: 2 },
  ])
  expect(live[1]?.scheduledFor).toBeGreaterThan(editedAt)
  expect((live[1]?.scheduledFor ?? 0) % (7 * S)).toBe(Date.UTC(2026, 0, 1) % (7 * S))
})

test.each([
  ['run_once', {}, 'misfire', 1],
  ['run_all', {}, null, 'all'],
  ['run_all', { cap: 3 }, 'misfire', 3],
  ['run_once', { window: '1s' }, 'misfire', 0],
  ['skip', {}, 'misfire', 0],
  ['fail', {}, 'misfire', 0],
] as const)(
  'an edit during an outage treats missed occurrences by the policy %s %o',
  async (policy, more, reason, runs) => {
    const misfire = { policy, ...more }
    const { id, missed } = await overdue({ agoMs: 12.5 * H, isWatched: false, misfire, maxRuns: 100 })

    await send('PATCH', `/v1/tasks/${id}`, { schedule: every7s })
    const ledger = await ledgerOf(id, `?to=${iso(Date.now() + 20 * S)}`)
    const live = await agendaOf(db, id)

    const count = runs === 'all' ? missed.length : runs
    expect(ledger).toMatchObject({ isInOrder: true, counts: { missing: 0, unexpected: 0, doubled: 0 } })
    const passed = [policy === 'fail' ? 'failed' : 'skipped', reason, missed.length - count]
    expect(inShort(ledger)[0]).toEqual(reason === null ? ['due', null, 1] : passed)
    expect(live.filter(({ kind }) => kind === 'catchup').map(({ scheduledFor }) => scheduledFor)).toEqual(
      missed.slice(missed.length - count),
    )
    expect(live.at(-1)).toMatchObject({ kind: 'occurrence', ordinal: 1 + count, version: 2 })
  },
)

test.each([
  ['run_once', 1],
  ['run_all', 'all'],
  ['skip', 1],
  ['fail', 1],
] as const)(
  'an edit within the grace of an outage writes catch-up runs under every policy: %s',
  async (policy, runs) => {
    const every2s = { type: 'every', interval: '2s', anchor: '2026-01-01T00:00:00Z' }
    const { id } = await aTaskOf(0, { schedule: every2s, misfire: { policy } })
    const first = Math.floor(Date.now() / (2 * S)) * 2 * S - 4 * S
    await moveWaiting(db, id, first)
    await db.run(sql`
    insert into unwatched (shard, from_at, until_at)
    select id, to_timestamp(${first - S}::float8 / 1000), to_timestamp(${first + H}::float8 / 1000) from shard`)

    await patient.send('PATCH', `/v1/tasks/${id}`, { schedule: every7s })

    await db.run(sql`delete from unwatched`)
    const ledger = await ledgerOf(id, `?from=${iso(first)}`)
    const late = (await agendaOf(db, id)).filter(({ kind }) => kind === 'catchup')
    const newest = late.at(-1)?.scheduledFor ?? 0
    const missed = (newest - first) / (2 * S) + 1
    expect(missed).toBeGreaterThanOrEqual(3)
    expect(late).toHaveLength(runs === 'all' ? missed : 1)
    expect(inShort(ledger)[0]).toEqual(runs === 'all' ? ['due', null, 1] : ['skipped', 'misfire', missed - 1])
  },
)

test('a pause skips the catch-up runs of an outage and accounts for each', async () => {
  const misfire = { policy: 'run_all' }
  const { id, missed } = await overdue({ agoMs: 12.5 * H, isWatched: false, misfire })
  await send('PATCH', `/v1/tasks/${id}`, { schedule: every7s })

  await send('POST', `/v1/tasks/${id}/pause`)

  const ledger = await ledgerOf(id, `?to=${iso(missed.at(-1) ?? 0)}`)
  expect(ledger).toMatchObject({ isInOrder: true, counts: { skipped: missed.length, missing: 0 } })
  expect(new Set((await historyOf(db, id)).map(({ kind, reason }) => [kind, reason].join(' ')))).toContain(
    'catchup paused',
  )
})

test('a failure for a range of missed occurrences accounts for any part of the range', async () => {
  const misfire = { policy: 'fail' }
  const { id, first } = await overdue({ agoMs: 12.5 * H, isWatched: false, misfire })
  await send('PATCH', `/v1/tasks/${id}`, { schedule: every7s })

  const ledger = await ledgerOf(id, `?from=${iso(first + 2.5 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true })
  expect(ledger.items[0]).toMatchObject({
    state: 'failed',
    reason: 'misfire',
    runState: 'permanently_failed',
    at: iso(first + 3 * H),
  })
})

test('an edit that keeps the schedule leaves missed occurrences to the scheduler', async () => {
  const { id, first } = await overdue({ agoMs: 12.5 * H, isWatched: false })

  await send('PATCH', `/v1/tasks/${id}`, { maxRuns: 50, misfire: { policy: 'skip' } })

  expect(await agendaOf(db, id)).toMatchObject([{ kind: 'occurrence', scheduledFor: first, version: 2 }])
  expect(await ledgerOf(id)).toMatchObject({ isInOrder: true })
})

test('a pause whose end has passed is over for an edit, pause, resume or cancellation of the task', async () => {
  const acts = [
    (id: string) => send('PATCH', `/v1/tasks/${id}`, { schedule: every7s }),
    (id: string) => send('POST', `/v1/tasks/${id}/pause`),
    (id: string) => send('POST', `/v1/tasks/${id}/resume`),
    (id: string) => send('POST', `/v1/tasks/${id}/cancel`),
  ]
  const second = ['edited', 'paused', null, 'cancelled']
  await db.run(sql`update shard set watched_until = clock_timestamp()`)
  for (const [n, act] of acts.entries()) {
    const { id, madeAt } = await aTaskOf(10 * H)
    await send('POST', `/v1/tasks/${id}/pause`, { until: iso(Date.now() + H) })
    await movePause(db, id, madeAt + 0.5 * H)
    await db.run(sql`
      update agenda set wake_at = to_timestamp(${madeAt + 4.5 * H}::float8 / 1000), scheduled_for = to_timestamp(${madeAt + 4.5 * H}::float8 / 1000)
      where task_id = ${id}`)

    expect((await act(id)).status).toBe(200)

    const ledger = await ledgerOf(id)
    expect([n, ledger]).toMatchObject([
      n,
      { isInOrder: true, counts: { missing: 0, doubled: 0, unexpected: 0 } },
    ])
    expect(ledger.items[0]).toMatchObject({ state: 'skipped', reason: 'paused', count: 4 })
    expect([n, ledger.items[1].reason]).toEqual([n, second[n]])
    expect(ledger.items[1].at).toBe(iso(madeAt + 5 * H))
  }
})

test('due occurrences under skip-next are accounted for after an edit, pause, undo or cancellation', async () => {
  const acts = [
    (id: string) => send('PATCH', `/v1/tasks/${id}`, { schedule: every7s }),
    (id: string) => send('POST', `/v1/tasks/${id}/pause`),
    (id: string) => send('DELETE', `/v1/tasks/${id}/skip-next`),
    (id: string) => send('POST', `/v1/tasks/${id}/cancel`),
  ]
  for (const [n, act] of acts.entries()) {
    const { id, madeAt } = await aTaskOf(6 * H)
    await moveWaiting(db, id, madeAt + H)
    await send('POST', `/v1/tasks/${id}/skip-next`, { count: 9 })

    expect((await act(id)).status).toBe(200)

    const ledger = await ledgerOf(id)
    expect([n, ledger]).toMatchObject([
      n,
      { isInOrder: true, counts: { missing: 0, doubled: 0, unexpected: 0 } },
    ])
    const skipped = everyHour(madeAt, Date.parse(ledger.now)).length
    expect([n, ledger.items[0]]).toMatchObject([n, { state: 'skipped', reason: 'skip_next', count: skipped }])
    const [next] = await agendaOf(db, id)
    if (n === 2) expect(next).toMatchObject({ kind: 'occurrence', scheduledFor: madeAt + (skipped + 1) * H })
  }
})

test('a version with skip-next ends when the next version begins', async () => {
  const { id } = await aTaskOf(0)
  await send('POST', `/v1/tasks/${id}/skip-next`, { count: 3 })
  await send('PATCH', `/v1/tasks/${id}`, { name: 'renamed' })
  await send('PATCH', `/v1/tasks/${id}`, { schedule: { type: 'every', interval: '9h' } })

  const ledger = await ledgerOf(id, `?to=${iso(GRID + 6 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true, nextCursor: null })
  expect(ledger.items.filter(({ at }: { at: string }) => Date.parse(at) > Date.now())).toEqual([])
})

test('a cancelled task accounts for its due occurrences and has none afterwards', async () => {
  const { id, madeAt } = await aTaskOf(6 * H)
  await moveWaiting(db, id, madeAt + H)
  await send('POST', `/v1/tasks/${id}/cancel`)

  const ledger = await ledgerOf(id, `?to=${iso(GRID + 6 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true, counts: { missing: 0, upcoming: 0 } })
  expect(ledger.items).toMatchObject([{ state: 'skipped', reason: 'cancelled' }])
})

test('occurrences in a pause before a cancellation are accounted for', async () => {
  const { id, madeAt } = await aTaskOf(6 * H)
  await moveWaiting(db, id, GRID + H)
  await send('POST', `/v1/tasks/${id}/pause`)
  await movePause(db, id, madeAt + 0.5 * H)
  await send('POST', `/v1/tasks/${id}/cancel`)

  const ledger = await ledgerOf(id)

  expect(ledger).toMatchObject({ isInOrder: true, counts: { missing: 0 } })
  expect(ledger.items).toMatchObject([{ state: 'skipped', reason: 'paused', at: iso(madeAt + H) }])
})

test('a skip that began before the requested range accounts for its part of the range', async () => {
  const { id, madeAt } = await aTaskOf(10 * H)
  await moveWaiting(db, id, madeAt + H)
  await send('POST', `/v1/tasks/${id}/pause`)

  const ledger = await ledgerOf(id, `?from=${iso(madeAt + 4.5 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true })
  expect(ledger.items[0]).toMatchObject({ state: 'skipped', reason: 'paused', at: iso(madeAt + 5 * H) })
})

test('nothing is expected after the last run of maxRuns, even if that was a catch-up run', async () => {
  const { id, madeAt } = await aTaskOf(10 * H, { maxRuns: 2 })
  await ran(id, [madeAt + H, madeAt + 2 * H])
  await db.run(sql`update run set kind = 'catchup' where task_id = ${id} and ordinal = 2`)
  await db.run(sql`delete from agenda where task_id = ${id}`)

  const ledger = await ledgerOf(id, `?from=${iso(madeAt + 4.5 * H)}`)

  expect(ledger).toMatchObject({ isInOrder: true, expected: 0 })
})

test('occurrences older than the history are not missing', async () => {
  const { id } = await aTaskOf(20 * DAY_MS, {
    schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:00:00Z' },
  })

  const ledger = await ledgerOf(id, `?from=${iso(Date.now() - 19 * DAY_MS)}`)

  expect(Date.parse(ledger.historyFrom)).toBeGreaterThan(Date.now() - 6 * DAY_MS)
  expect(Date.parse(ledger.items[0].at)).toBeGreaterThanOrEqual(Date.parse(ledger.historyFrom))
})

test('occurrences deleted by the retention of the project are not missing', async () => {
  const onTheHour = { schedule: { type: 'every', interval: '1h', anchor: '2026-01-01T00:00:00Z' } }
  const { id, madeAt } = await aTaskOf(4 * DAY_MS, onTheHour)
  const { id: over } = await aTaskOf(4 * DAY_MS, { ...onTheHour, maxRuns: 3 })
  const { id: chain } = await aTaskOf(4 * DAY_MS, {
    schedule: { type: 'delay', interval: '1h' },
    endAt: iso(Date.now() + DAY_MS),
  })
  await db.run(sql`delete from agenda where task_id in (${over}, ${chain})`)
  await db.run(
    sql`update task set definition = jsonb_set(definition::jsonb, '{endAt}', to_jsonb(${iso(madeAt + DAY_MS)}::text))::json where id = ${chain}`,
  )
  const begin = (Math.floor(Date.now() / DAY_MS) - 2) * DAY_MS
  await moveWaiting(db, id, begin)
  await db.run(sql`
    insert into retention (project_id, history_from) select project_id, to_timestamp(${begin}::float8 / 1000) from task where id = ${id}`)

  const ledger = await ledgerOf(id, `?from=${iso(madeAt)}`)
  const others = await Promise.all([over, chain].map((task) => ledgerOf(task)))
  const why = await send('GET', `/v1/tasks/${over}/why?at=${iso(begin - DAY_MS)}`)
  await db.run(sql`delete from retention`)

  expect(ledger).toMatchObject({ historyFrom: iso(begin), isInOrder: true })
  for (const one of others) expect(one).toMatchObject({ isInOrder: true, counts: { missing: 0 } })
  expect(why.body).toMatchObject({
    code: 'before_history',
    facts: { since: iso(begin) },
    advice: expect.stringContaining('--history-days'),
  })
})

test('a range with too many occurrences is refused, and the answer names the largest possible range', async () => {
  const { id } = await aTaskOf(2 * DAY_MS, { schedule: { type: 'every', interval: '10s' } })
  const from = Date.now() - 2 * DAY_MS + 2 * H

  const refused = await send('GET', `/v1/tasks/${id}/ledger?from=${iso(from)}`)
  const [, largest = ''] = /can cover up to (\S+)\. Request/.exec(refused.body.detail) ?? []
  const answered = await ledgerOf(id, `?from=${iso(from)}&to=${largest}`)

  expect(refused.status).toBe(422)
  expect(refused.body.errors).toMatchObject([{ pointer: '?to' }])
  expect(answered.expected).toBe(10_000)
})

test('without from, the ledger of a very frequent task covers less than a day', async () => {
  const { id } = await aTaskOf(2 * DAY_MS, {
    schedule: { type: 'every', interval: '1s', anchor: '2026-01-01T00:00:00Z' },
  })

  const ledger = await ledgerOf(id)

  expect(Date.parse(ledger.to) - Date.parse(ledger.from)).toBe(3_600_000)
})

test('entries come in pages, each with the counts of the whole range', async () => {
  const { id, madeAt } = await aTaskOf(10 * H)
  await ran(id, everyHour(madeAt, madeAt + 8 * H))

  const first = await ledgerOf(id, '?limit=5')
  const second = await ledgerOf(id, `?limit=5&cursor=${first.nextCursor}`)

  expect(first.items).toHaveLength(5)
  expect(second.items[0].at).toBe(iso(madeAt + 6 * H))
  expect(second.counts).toEqual(first.counts)
})

test('invalid queries and an unknown task are refused', async () => {
  const { id } = await aTaskOf(6 * H)

  for (const query of [
    '?from=yesterday',
    '?show=gaps',
    '?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z',
    '?cursor=x',
  ])
    expect([query, (await send('GET', `/v1/tasks/${id}/ledger${query}`)).status]).toEqual([query, 422])
  expect((await send('GET', '/v1/tasks/01900000-0000-7000-8000-000000000000/ledger')).status).toBe(404)
})
