/** Reads from history what a run waited for at an instant in the past. */
import { shardOf } from '../../core/ids.ts'
import { type Lane, laneOf } from '../../core/run/lane.ts'
import { withoutSecretsLabel } from '../../core/secret/secrets-label.ts'
import { NOTHING_RECORDED, type Recorded } from '../../core/why/recorded.ts'
import type { PastRun } from '../../core/why/then-case.ts'
import { unwatchedAt } from '../../store/agenda/shards.ts'
import type { Database, Queryable } from '../../store/database/database.ts'
import { readDefinitions } from '../../store/tasks/read-definitions.ts'
import { liveRuns, waitingIn } from '../../store/tasks/why.ts'
import { inProgressWithKey, overriddenQueue, workersAt } from '../../store/tasks/why-then.ts'

/** Maximum number of the task's live rows that are examined. */
export const MAX_LIVE = 200
/** Maximum number of runs with the same concurrency key that are examined. */
const MAX_HOLDERS = 1_000

/** Which run waited, and when. */
export interface Waited {
  readonly projectId: string
  readonly taskId: string
  readonly at: number
  readonly run: PastRun
  /** Nodes that died after this instant are still in the database. */
  readonly nodesKnownFrom: number
  /** A shard whose owner sends no heartbeat for longer than this is unwatched. */
  readonly takeoverMs: number
}

/** Reads what is recorded. All statements use one snapshot. History is searched by time here, which needs bitmap scans. */
export const whatIsRecorded = (db: Database, waited: Waited): Promise<Recorded> =>
  db.snapshot(async (tx) => {
    const { projectId, taskId, at, run } = waited
    const [read] = await tx.run(readDefinitions([{ taskId, version: run.version }]))
    if (!read?.definition) return NOTHING_RECORDED
    const [override] = await tx.run(overriddenQueue(run.runId))
    const lane = laneOf(projectId, {
      ...read.definition,
      queue: override?.queue ?? read.definition.queue,
    })
    return {
      unwatched: await unwatchedThen(tx, waited),
      pausedQueue: await pausedQueue(tx, waited),
      key: await keyThen(tx, lane, waited),
      workers: at < waited.nodesKnownFrom ? null : await workersThen(tx, lane, waited),
    }
  })

/** A run that was due before the unwatched period began may have been fired, and have waited for something else. */
async function unwatchedThen(
  tx: Queryable,
  { taskId, at, run, takeoverMs }: Waited,
): Promise<Recorded['unwatched']> {
  const shard = shardOf(taskId)
  const [stretch] = await tx.run(unwatchedAt({ shard, at, takeoverMs }))
  return stretch && stretch.from <= run.scheduledFor
    ? { shard, since: stretch.from, until: stretch.to }
    : null
}

/** A run that waited in a queue that is still paused is still waiting there, so its live row names the queue. */
async function pausedQueue(tx: Queryable, { taskId, run, at }: Waited): Promise<Recorded['pausedQueue']> {
  if (run.endedAt !== null) return null
  const live = await tx.run(liveRuns({ taskId, limit: MAX_LIVE }))
  const waits = live.find(({ runId, state }) => runId === run.runId && state === 'pending')
  const [place] = waits ? await tx.run(waitingIn({ lane: waits.lane, before: null, limit: 1 })) : []
  const since = place?.queuePausedAt ?? null
  return place && since !== null && since <= at ? { name: place.queue, since } : null
}

/** Tasks that share a key may have different limits: the key was full only if the highest known limit was reached. */
async function keyThen(
  tx: Queryable,
  { id, gate }: Lane,
  { projectId, at, run }: Waited,
): Promise<Recorded['key']> {
  if (!gate) return null
  const { key } = gate
  const [place] = await tx.run(waitingIn({ lane: id, before: null, limit: 1 }))
  const found = await tx.run(inProgressWithKey({ projectId, key, at, limit: MAX_HOLDERS }))
  const heldBy = found
    .filter(({ runId, definition }) => runId !== run.runId && laneOf(projectId, definition).id === id)
    .map(({ runId }) => runId)
  return { name: key, limit: Math.max(gate.places, place?.keyLimit ?? 0), heldBy }
}

async function workersThen(
  tx: Queryable,
  { labels, handler, queue }: Lane,
  { projectId, at }: Waited,
): Promise<Recorded['workers']> {
  const needed = withoutSecretsLabel(labels)
  const [workers] = await tx.run(workersAt({ projectId, labels: needed, handler, queue, at }))
  return workers ? { ...workers, handler, labels: needed } : null
}
