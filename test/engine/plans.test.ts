/**
 * The plan is the biggest risk: the same correct statement costs ten times as much when the planner reads
 * a table instead of an index. Each hot statement is explained on a table that was analysed while it was
 * empty, with a hundred thousand rows, and with dead rows in front.
 */

import { escapeLiteral } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { laneOf } from '../../src/core/run/lane.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { catchUpStarts, postponeCatchUp, readCatchUp } from '../../src/store/agenda/catch-up.ts'
import { endExpired, expiredQueueTimeouts, setQueueTimeouts } from '../../src/store/agenda/expiry.ts'
import { fire, JUST_RUN } from '../../src/store/agenda/fire.ts'
import { firePlain, fireRecurring } from '../../src/store/agenda/fire-plain.ts'
import { fireWithOverlap } from '../../src/store/agenda/fire-with-overlap.ts'
import { type DueRow, lookAhead } from '../../src/store/agenda/look-ahead.ts'
import { cancelledAmong, endPlainRuns, endRuns } from '../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../src/store/agenda/retries.ts'
import { tellBefore } from '../../src/store/agenda/superseding.ts'
import { Database, type Queryable } from '../../src/store/database/database.ts'
import { type Statement, sql } from '../../src/store/database/sql.ts'
import { handBackRuns, reclaimRuns } from '../../src/store/nodes/leased-runs.ts'
import { runsLeasedTo, storedAmong, workOfRemotes } from '../../src/store/nodes/remote-runs.ts'
import { countRunning, setQueueLimit } from '../../src/store/queues/queue-limits.ts'
import { registerLanes } from '../../src/store/queues/queues.ts'
import { waitingLanes } from '../../src/store/queues/waiting-lanes.ts'
import { takeGated, takeReady } from '../../src/store/ready/take.ts'
import { readDefinitions } from '../../src/store/tasks/read-definitions.ts'
import { aDefinition, aNode, ownShards } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'

const { url } = await createTestDatabase()
const db = new Database({
  url,
  applicationName: 'belfry test',
  maxConnections: 1,
  statementTimeoutMs: 60_000,
  favourIndexes: true,
})
afterAll(() => db.close())
const ROWS = 100_000
const BATCH = 500
/** Of so many the plans are kept. */
const SMALL_BATCH = 5
const nodeId = await aNode(db)
const shards = await ownShards(db, nodeId)
const allShards = shards.map(({ id }) => id)

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

interface Explained {
  readonly 'QUERY PLAN': [{ Plan: PlanNode }]
}

const EXPLAIN = 'explain (analyze, timing off, format json)'

/** The plan that is made for these values. */
async function explainFor(tx: Queryable, { text, values }: Statement<unknown>) {
  const [row] = await tx.run<Explained>({ text: `${EXPLAIN} ${text}`, values })
  return row?.['QUERY PLAN'][0].Plan
}

/** The plan that a connection keeps, which knows nothing of the values. */
async function explainKept(tx: Queryable, { text, values }: Statement<unknown>) {
  const literals = values.map((value) => {
    if (Array.isArray(value)) return escapeLiteral(`{${value.join(',')}}`)
    return typeof value === 'string' ? escapeLiteral(value) : String(value)
  })
  await tx.run({ text: 'set local plan_cache_mode = force_generic_plan', values: [] })
  await tx.run({ text: `deallocate all; prepare kept as ${text}`, values: [] })
  const [row] = await tx.run<Explained>({
    text: `${EXPLAIN} execute kept(${literals.join(', ')})`,
    values: [],
  })
  return row?.['QUERY PLAN'][0].Plan
}

/** Rows of a table that a statement may look at, an index or not. */
interface Most {
  readonly of?: number
  readonly ofReady?: number
}

/** Explains a statement by running it and taking it back; answers how each big table was read. */
async function tablesReadBy(
  statement: Statement<unknown>,
  { isKept, of: most = 10 * BATCH, ofReady: mostOfReady = BATCH }: Most & { readonly isKept: boolean },
): Promise<string[]> {
  let plan: PlanNode | undefined
  await db
    .transaction(async (tx) => {
      plan = await (isKept ? explainKept(tx, statement) : explainFor(tx, statement))
      throw new Error('take it back')
    })
    .catch((error: Error) => {
      if (error.message !== 'take it back') throw error
    })
  const scans: string[] = []
  const walk = (node: PlanNode, isLimited: boolean) => {
    const table = node['Relation Name']
    if (
      table !== undefined &&
      node['Node Type'].includes('Scan') &&
      BIG.some((name) => table.startsWith(name))
    )
      scans.push(`${node['Node Type']} on ${table}`)
    if (table === 'ready' && node['Actual Rows'] * node['Actual Loops'] > mostOfReady)
      scans.push('too much of ready')
    const looks = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
    if (table !== undefined && looks > most) scans.push(`${looks} rows of ${table}`)
    if (node['Node Type'] === 'Sort' && isLimited) scans.push('Sort before a limit')
    for (const child of node.Plans ?? []) walk(child, isLimited || node['Node Type'] === 'Limit')
  }
  walk(plan as PlanNode, false)
  return scans
}

/** A limited queue, and two lanes of it: one has a key of its own, with more places. */
const PLACES = 5
const gated = [{}, { concurrencyKey: 'k', concurrencyLimit: 50 }].map((fields) =>
  laneOf(DEFAULT_PROJECT_ID, aDefinition({ queue: 'narrow', ...fields })),
)
const gatedLanes = gated.map(({ id }) => id)
await db.run(registerLanes(gated))
await db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: 'narrow', limit: PLACES }))

const BIG = ['agenda', 'ready', 'task', 'run', 'attempt', 'expiry']

/** Few rows come due while the statements are explained, however long that takes. */
async function fillTables(): Promise<void> {
  await db.run(sql`
    with made as (
      insert into task (id, project_id, action_type, definition)
      select gen_random_uuid(), ${DEFAULT_PROJECT_ID}, 'sleep', ${JSON.stringify(aDefinition())}::json from generate_series(1, ${ROWS}::integer)
      returning id
    )
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), id, ${DEFAULT_PROJECT_ID}, (random() * 63)::smallint, at, at, 1, 1
    from (select id, now() + random() * interval '100 minutes' - interval '100 seconds' as at from made) due`)
}

async function someRows(count = BATCH): Promise<DueRow[]> {
  const rows = await db.run(
    lookAhead({ shards: allShards, from: null, until: Date.now() + 6_000_000, limitPerShard: 20 }),
  )
  return rows.slice(0, count)
}

/** How the tables are read by each statement, by the plan that is made for it or by one that is kept. */
async function explainAll({ isKept = false } = {}): Promise<Record<string, string[]>> {
  const rows = await someRows(isKept ? SMALL_BATCH : BATCH)
  const scansOf = (statement: Statement<unknown>, most?: Most) => tablesReadBy(statement, { isKept, ...most })
  const recurring = rows.map((row) => ({
    row,
    startNow: false,
    decision: { ...JUST_RUN, exclusive: true, next: { runId: uuidv7(), at: Date.now() } },
  }))
  const inTurn = recurring.map((firing) => ({
    ...firing,
    decision: {
      ...firing.decision,
      overlap: { places: 1, beyond: 'overlap' as const, supersedes: true, deferUntil: null },
    },
  }))
  const held = rows.map(({ runId, fence }) => ({ runId, fence }))
  const attempt = { startedAt: 0, endedAt: Date.now(), output: null, error: null }
  return {
    lookAhead: await scansOf(
      lookAhead({
        shards: allShards,
        from: Date.now() - 5_000,
        until: Date.now() + 10_000,
        limitPerShard: 125,
      }),
    ),
    lookPastWhatIsKnown: await scansOf(
      lookAhead({
        shards: allShards,
        from: null,
        until: Date.now(),
        limitPerShard: 20,
        except: rows.map(({ runId }) => runId),
      }),
    ),
    readCatchUp: await scansOf(
      readCatchUp({
        shards: allShards,
        now: Date.now(),
        until: Date.now() + 1_000,
        limit: 40,
        maxWaiting: 400,
      }),
      { of: 40 },
    ),
    catchUpStarts: await scansOf(catchUpStarts(rows.slice(0, 40))),
    postponeCatchUp: await scansOf(
      postponeCatchUp(rows.slice(0, 40).map((row) => ({ ...row, at: Date.now() }))),
    ),
    readDefinitions: await scansOf(readDefinitions(rows)),
    firePlain: await scansOf(firePlain({ nodeId, shards, workerId: nodeId, rows })),
    fire: await scansOf(fire({ nodeId, shards, workerId: nodeId, firings: recurring })),
    fireRecurring: await scansOf(fireRecurring({ nodeId, shards, workerId: nodeId, firings: recurring })),
    fireWithOverlap: await scansOf(fireWithOverlap({ nodeId, shards, workerId: nodeId, firings: inTurn })),
    takeReady: await scansOf(takeReady({ workerId: nodeId, lanes: [0], limit: BATCH })),
    takeReadyInTurn: await scansOf(takeReady({ workerId: nodeId, lanes: [0, ...gatedLanes], limit: BATCH }), {
      ofReady: 3 * BATCH,
    }),
    takeGated: await scansOf(takeGated({ workerId: nodeId, lanes: gatedLanes, limit: BATCH }), {
      ofReady: 2 * PLACES,
    }),
    waitingLanes: await scansOf(waitingLanes({ labels: [], limit: BATCH }), { ofReady: 3 }),
    waitingHandlerLanes: await scansOf(
      waitingLanes({
        projectId: DEFAULT_PROJECT_ID,
        labels: [],
        handlers: ['a'],
        queues: ['b'],
        limit: BATCH,
      }),
      { ofReady: 3 },
    ),
    workOfRemotes: await scansOf(workOfRemotes(15_000)),
    setQueueTimeouts: await scansOf(setQueueTimeouts(rows.map((row) => ({ ...row, waitMs: 1_000 })))),
    expiredQueueTimeouts: await scansOf(expiredQueueTimeouts({ limit: BATCH, except: [] })),
    endExpired: await scansOf(endExpired(rows)),
    runsLeasedTo: await scansOf(runsLeasedTo({ workerId: nodeId, runIds: rows.map(({ runId }) => runId) })),
    storedAmong: await scansOf(storedAmong({ workerId: nodeId, leases: held })),
    countRunning: await scansOf(countRunning({ workerId: nodeId, runIds: rows.map(({ runId }) => runId) })),
    endRuns: await scansOf(
      endRuns(
        held.map((h) => ({ ...h, ...attempt, state: 'completed', outcome: 'completed', nextRunId: null })),
      ),
    ),
    endPlainRuns: await scansOf(
      endPlainRuns(held.map((h) => ({ ...h, startedAt: Date.now(), endedAt: Date.now(), output: null }))),
    ),
    retryRuns: await scansOf(
      retryRuns(held.map((h) => ({ ...h, ...attempt, outcome: 'failed', retryAt: Date.now() }))),
    ),
    reclaimRuns: await scansOf(reclaimRuns(held)),
    handBackRuns: await scansOf(handBackRuns(held)),
    cancelledAmong: await scansOf(cancelledAmong(rows.map(({ runId }) => runId))),
    tellBefore: await scansOf(tellBefore(rows)),
  }
}

const expectNoTableIsRead = (plans: Record<string, string[]>) => {
  for (const statement of ['takeReady', 'takeReadyInTurn', 'takeGated', 'waitingLanes'])
    expect(plans[statement], `${statement}: no more of a lane is read than can be taken`).not.toContain(
      'too much of ready',
    )
  for (const statement of ['lookAhead', 'lookPastWhatIsKnown'])
    expect(plans[statement], 'a shard is walked in the order of its index').not.toContain(
      'Sort before a limit',
    )
  for (const [statement, scans] of Object.entries(plans)) {
    expect(scans, `${statement} reads ${scans.join(', ')}`).not.toContainEqual(
      expect.stringMatching(/^(Seq|Bitmap Heap) Scan on (agenda|ready|task|run|attempt|expiry)$|rows of/),
    )
  }
}

test('no hot statement scans a whole table, with any statistics and with many dead rows', {
  timeout: 120_000,
}, async () => {
  await db.run(sql`analyze`)
  await fillTables()
  await db.run(
    sql`insert into ready (lane, priority, wake_at, run_id) select 0, 0, wake_at, run_id from agenda limit 20000`,
  )
  for (const lane of gatedLanes)
    await db.run(
      sql`insert into ready (lane, priority, wake_at, run_id) select ${lane}, 0, wake_at, run_id from agenda limit 20000`,
    )
  await db.run(
    sql`insert into expiry (run_id, attempt, expires_at) select run_id, 0, now() + interval '1 hour' * (random() - 0.1) from agenda limit 20000 on conflict do nothing`,
  )
  expectNoTableIsRead(await explainAll())
  expectNoTableIsRead(await explainAll({ isKept: true }))

  await db.run(sql`analyze`)
  expectNoTableIsRead(await explainAll())
  expectNoTableIsRead(await explainAll({ isKept: true }))

  await db.run(sql`delete from agenda where wake_at < now() + interval '30 minutes'`)
  await db.run(sql`delete from ready where ctid in (select ctid from ready order by wake_at limit 45000)`)
  expectNoTableIsRead(await explainAll())
  expectNoTableIsRead(await explainAll({ isKept: true }))
})

test('a claim takes exactly as many runs as its limit, however many wait', async () => {
  await db.run(sql`delete from ready`)
  await db.run(
    sql`update agenda set state = 'pending' where run_id in (select run_id from agenda limit 1000)`,
  )
  await db.run(
    sql`insert into ready (lane, priority, wake_at, run_id) select 0, 0, wake_at, run_id from agenda where state = 'pending'`,
  )

  const [claim] = await db.run(takeReady({ workerId: nodeId, lanes: [0], limit: 7 }))
  expect(claim?.runs).toHaveLength(7)
})

test('a claim behind gates takes exactly as many runs as the queue has slots', async () => {
  await db.run(
    sql`update ready set lane = ${gatedLanes[1]} where run_id in (select run_id from ready limit 500)`,
  )
  await db.run(sql`update ready set lane = ${gatedLanes[0]} where lane = 0`)

  const [claim] = await db.run(takeGated({ workerId: nodeId, lanes: gatedLanes, limit: 7 }))

  expect(claim?.runs).toHaveLength(PLACES)
})

test('claiming is a HOT update: no index has to be touched', async () => {
  const before = await updatesOfAgenda()
  for (let i = 0; i < 4; i++) {
    const rows = await someRows()
    await db.run(firePlain({ nodeId, shards, workerId: nodeId, rows }))
  }
  const after = await updatesOfAgenda()

  const updates = after.all - before.all
  expect(updates).toBeGreaterThanOrEqual(4 * BATCH * 0.9)
  expect((after.hot - before.hot) / updates).toBeGreaterThan(0.99)
})

async function updatesOfAgenda(): Promise<{ all: number; hot: number }> {
  await db.run(sql`select pg_stat_force_next_flush()`)
  const [row] = await db.run(sql<{ all: number; hot: number }>`
    select n_tup_upd as all, n_tup_hot_upd as hot from pg_stat_user_tables where relname = 'agenda'`)
  return row ?? { all: 0, hot: 0 }
}
