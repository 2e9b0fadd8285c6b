/** What the parts of the suite work with: a database, the transport over it, and lanes in which runs wait. */
import type { ClaimedRun, ClaimRequest } from '../../src/core/run/claim.ts'
import { laneOf } from '../../src/core/run/lane.ts'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { firePlain } from '../../src/store/agenda/fire-plain.ts'
import type { Retry } from '../../src/store/agenda/retries.ts'
import { Database, type Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { registerLanes } from '../../src/store/queues/queues.ts'
import type { Transport } from '../../src/transport/transport.ts'
import { aDefinition, aNode, completed, dueRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { makeDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** One kind of transport, over a database of the suite's own. */
export interface Rig {
  /** The transport as a node has it; each call makes another node's. What it writes goes through `db`. */
  connect(db: Queryable): Promise<Transport>
  /** Resolves when all that waits can be claimed: a transport that has to look for itself has looked. */
  settled(): Promise<void>
  /** Loses its place in line of each of these runs, which stay pending. */
  drop(db: Queryable, runs: readonly Waiting[]): Promise<void>
  /** Loses everything that is not in PostgreSQL, at once and without warning. */
  forget(): Promise<void>
  stop(): Promise<void>
}

/** A run that waits. */
export interface Waiting {
  readonly runId: string
  readonly taskId: string
}

const MAX_CONNECTIONS = 12

/** What `startBench` makes. */
export type Bench = Awaited<ReturnType<typeof startBench>>

export async function startBench(startRig: (databaseUrl: string) => Promise<Rig>) {
  const { url, drop } = await makeDatabase()
  const options = { url, applicationName: 'belfry test', maxConnections: MAX_CONNECTIONS }
  const db = new Database({ ...options, statementTimeoutMs: 30_000, favourIndexes: true })
  const rig = await startRig(url)
  let transport = await rig.connect(db)
  let queues = 0

  /** A lane that no other test uses, and tasks whose runs wait in it. */
  async function aLane(about: Partial<TaskDefinition> = {}) {
    const definition = { queue: `queue-${queues++}`, ...about }
    const lane = laneOf(DEFAULT_PROJECT_ID, aDefinition(definition))
    await db.run(registerLanes([lane]))
    const schedulerId = await aNode(db, ['scheduler'])
    /** Runs that are due and found no room, in the order in which they are given; with `side`, they wait in that side lane. */
    const put = async (
      ...runs: { dueAt?: number; priority?: number; count?: number; side?: number }[]
    ): Promise<Waiting[]> => {
      const tasks: Waiting[] = []
      const sides: (number | null)[] = []
      for (const { priority = 0, side = null, ...run } of runs) {
        const made = await tasksInAgenda(db, { ...run, definition: { ...definition, priority } })
        tasks.push(...made)
        sides.push(...made.map(() => side))
      }
      const shards = await ownShards(db, schedulerId)
      const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
      await db.run(firePlain({ nodeId: schedulerId, shards, workerId: null, rows, sides }))
      await rig.settled()
      return tasks
    }
    return { id: lane.id, queue: definition.queue, put }
  }

  return {
    db,
    rig,
    aLane,
    /** The same behind a gate with so many places. */
    aGatedLane: (places: number) => aLane({ concurrencyKey: `key-${queues}`, concurrencyLimit: places }),
    aWorker: () => aNode(db, ['worker']),
    take: async (request: ClaimRequest, from = transport) => [...(await from.claim(request)).runs],
    put: (runIds: readonly string[]) => transport.put(runIds),
    leaveSideLanes: (...request: Parameters<Transport['leaveSideLanes']>) =>
      transport.leaveSideLanes(...request),
    drop: (runs: readonly Waiting[]) => rig.drop(db, runs),
    claimGated: (...request: Parameters<Transport['claimGated']>) => transport.claimGated(...request),
    takeGated: async (request: ClaimRequest, from = transport) => [...(await from.claimGated(request)).runs],
    /** Loses everything that is not in PostgreSQL, and goes on with what is. */
    forget: async () => {
      await rig.forget()
      await eventually(() => isReachable(db))
      transport = await rig.connect(db)
      await rig.settled()
    },
    stop: async () => {
      await rig.stop()
      await db.close()
      await drop()
    },
  }
}

/** All connections work, also those that somebody else has cut. */
const isReachable = (db: Database) =>
  Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => db.run(sql`select pg_sleep(0.01)`))).then(
    () => true,
    () => false,
  )

export const idsOf = (runs: readonly { runId: string }[]) => runs.map(({ runId }) => runId).sort()

/** The end of a run that went well. */
export const ending = ({ runId, fence }: Pick<ClaimedRun, 'runId' | 'fence'>) => completed(runId, fence)

/** The end of an attempt that failed, to be repeated at once. */
export const retry = ({ runId, fence }: ClaimedRun): Retry => ({
  ...{ runId, fence, outcome: 'failed', startedAt: Date.now(), endedAt: Date.now(), retryAt: Date.now() },
  ...{ output: null, error: { code: 'x', message: 'x' } },
})
