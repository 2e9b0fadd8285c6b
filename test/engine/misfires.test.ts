/**
 * Outages, replayed: a node is stopped, what it would have fired is moved into the past, together with the instant
 * up to which its shards were watched, and another node starts. Each misfire policy is compared with the rows.
 */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { agendaOf, type HistoryRow, historyOf, moveWaiting } from '../api/rows.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { mostAtOnce } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND

interface Outage {
  readonly intervalMs: number
  readonly lastsMs: number
  readonly tasks: Readonly<Record<string, Record<string, unknown>>>
}

/** Lets tasks on a grid miss all their occurrences of an outage; answers when it began and their ids. */
async function afterOutage({ intervalMs, lastsMs, tasks }: Outage) {
  const database = await createTestDatabase()
  const { db } = database
  const before = await startTestNode(database, { roles: 'api,scheduler,worker,liveness' })
  const from = Math.floor((Date.now() - lastsMs) / SECOND) * SECOND
  const ids: Record<string, string> = {}
  for (const [name, fields] of Object.entries(tasks)) {
    const schedule = { type: 'every', interval: `${intervalMs}ms`, anchor: new Date(from).toISOString() }
    const startAt = new Date(Date.now() + MINUTE).toISOString()
    const { body } = await before.request('POST', '/v1/tasks', {
      action: { type: 'sleep', duration: '0s' },
      schedule,
      startAt,
      ...fields,
    })
    ids[name] = body.id
  }
  await before.stop()
  await db.run(sql`
    update task set definition = (definition::jsonb - 'startAt')::json where definition ->> 'startAt' is not null`)
  for (const id of Object.values(ids)) await moveWaiting(db, id, from)
  await db.run(sql`update shard set watched_until = to_timestamp(${from - SECOND}::float8 / 1000)`)
  const node = await startTestNode(database)
  return { db, node, from, ids }
}

/** Every instant that the rows speak for, as often as they do. */
const instantsOf = (rows: readonly HistoryRow[], intervalMs: number) =>
  rows
    .flatMap(({ scheduledFor, until }) => {
      const count = until === null ? 1 : (until - scheduledFor) / intervalMs + 1
      return Array.from({ length: count }, (_, n) => scheduledFor + n * intervalMs)
    })
    .sort((a, b) => a - b)

test('thirty minutes of outage, and what each policy makes of them', async () => {
  const overlap = 'allow'
  const { db, from, ids } = await afterOutage({
    intervalMs: MINUTE,
    lastsMs: 30 * MINUTE + 20 * SECOND,
    tasks: {
      once: { overlap },
      all: { overlap, misfire: { policy: 'run_all', rate: 1_000 } },
      capped: { overlap, misfire: { policy: 'run_all', cap: 10, rate: 1_000 } },
      recent: { overlap, misfire: { policy: 'run_all', window: '10m30s', rate: 1_000 } },
      inTurn: { overlap: 'skip', misfire: { policy: 'run_all', cap: 5, rate: 1_000 } },
      skip: { overlap, misfire: { policy: 'skip' } },
      fail: { overlap, misfire: { policy: 'fail' } },
      expired: { overlap, misfire: { window: '1s' } },
    },
  })
  const missed = 31
  const settled = (id: string) =>
    eventually(
      async () => {
        const live = await agendaOf(db, id)
        const isOver = live.every((row) => row.state === 'scheduled' && row.kind === 'occurrence')
        return isOver && live.length === 1 && (live[0]?.scheduledFor ?? 0) > from && live
      },
      { withinMs: 30_000 },
    )

  const found: Record<string, HistoryRow[]> = {}
  for (const [name, id] of Object.entries(ids)) {
    const [next] = await settled(id)
    found[name] = await historyOf(db, id)
    const until = next?.scheduledFor ?? 0
    expect(instantsOf(found[name], MINUTE), `${name}: each occurrence once`).toEqual(
      Array.from({ length: (until - from) / MINUTE }, (_, n) => from + n * MINUTE),
    )
  }

  const shape = (name: string) =>
    (found[name] ?? [])
      .filter(({ scheduledFor }) => scheduledFor < from + missed * MINUTE)
      .map(({ kind, state, reason, count }) => [kind, state, reason, count])
  const ran = (count: number) => Array(count).fill(['catchup', 'completed', null, null])
  expect(shape('once')).toEqual([
    ['occurrence', 'skipped', 'misfire', missed - 1],
    ['occurrence', 'completed', null, null],
  ])
  expect(shape('all')).toEqual(ran(missed))
  expect(shape('capped')).toEqual([['occurrence', 'skipped', 'misfire', missed - 10], ...ran(10)])
  expect(shape('recent')).toEqual([['occurrence', 'skipped', 'misfire', missed - 11], ...ran(11)])
  expect(shape('inTurn')).toEqual([['occurrence', 'skipped', 'misfire', missed - 5], ...ran(5)])
  expect(shape('skip')).toEqual([['occurrence', 'skipped', 'misfire', missed]])
  expect(shape('fail')).toEqual([['occurrence', 'permanently_failed', 'misfire', missed]])
  expect(shape('expired')).toEqual([['occurrence', 'skipped', 'misfire', missed]])
  expect(await mostAtOnce(db, [ids['inTurn'] as string])).toBeLessThanOrEqual(1)
})

test('five seconds of outage are no misfire: everything runs, whatever the policy', async () => {
  const policies = ['run_once', 'run_all', 'skip', 'fail']
  const { db, node, from, ids } = await afterOutage({
    intervalMs: SECOND,
    lastsMs: 5 * SECOND,
    tasks: Object.fromEntries(policies.map((policy) => [policy, { overlap: 'allow', misfire: { policy } }])),
  })

  for (const policy of policies) {
    const id = ids[policy] as string
    await eventually(async () => (await historyOf(db, id)).length >= 6)
    await node.request('POST', `/v1/tasks/${id}/pause`)
    const history = await historyOf(db, id)
    const count = history.length
    expect(history.map(({ state, reason, kind }) => [state, reason, kind])).toEqual(
      Array(count).fill(['completed', null, 'occurrence']),
    )
    expect(instantsOf(history, SECOND)).toEqual(Array.from({ length: count }, (_, n) => from + n * SECOND))
  }
})
