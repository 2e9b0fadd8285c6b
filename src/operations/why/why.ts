/** Explains why a task is not running, now or at an instant in the past: reads what the explanation needs. */

import { fileIdsOf } from '../../core/action/action-files.ts'
import { shardOf } from '../../core/ids.ts'
import { inForce } from '../../core/policy/blackout.ts'
import { laneOf } from '../../core/run/lane.ts'
import { withoutSecretsLabel } from '../../core/secret/secrets-label.ts'
import type { AwaitedFiles } from '../../core/why/file-causes.ts'
import { whyNow } from '../../core/why/now.ts'
import type { Waiting, Workers } from '../../core/why/now-case.ts'
import { NOTHING_RECORDED } from '../../core/why/recorded.ts'
import type { AwaitedSecrets } from '../../core/why/secret-causes.ts'
import { whyThen } from '../../core/why/then.ts'
import { type ThenCase, waiterAt, wasOpen } from '../../core/why/then-case.ts'
import type { Why } from '../../core/why/why.ts'
import type { Queryable } from '../../store/database/database.ts'
import { occurrenceBefore, pastVersions } from '../../store/history/ledger.ts'
import { historyBeginOf } from '../../store/history/run-search.ts'
import { blackoutsAt } from '../../store/projects/blackouts.ts'
import { isAnyRoleReady } from '../../store/secrets/keys.ts'
import { missingSecrets } from '../../store/secrets/secrets.ts'
import { missingFiles } from '../../store/tasks/file-waits.ts'
import { latestOccurrence } from '../../store/tasks/next-row.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import * as store from '../../store/tasks/why.ts'
import type { Context } from '../context.ts'
import { isWatched } from '../overview/cluster.ts'
import { notFound } from '../tasks/read-tasks.ts'
import { awaitedTarget } from './awaited-target.ts'
import { MAX_LIVE, whatIsRecorded } from './recorded.ts'

/** Maximum number of runs before the instant that are examined. */
const MAX_PAST = 50
/** Maximum up to which runs that wait before this one are counted. */
export const MAX_AHEAD = 1_000
const MAX_VERSIONS = 200
const FAR_AHEAD = 8_640_000_000_000_000

/** The causes, the most important one first, and the instant that they refer to. */
export interface WhyAnswer {
  readonly at: number
  readonly isNow: boolean
  readonly causes: readonly Why[]
}

export async function explainTask(context: Context, id: string, at: number | null): Promise<WhyAnswer> {
  const now = Math.floor(context.clock.now())
  if (at !== null) return { at, isNow: false, causes: await explainThen(context, { taskId: id, at, now }) }
  const causes = await inSnapshot(context, id, (tx, asked) => explainNow(tx, { ...asked, now }))
  return { at: now, isNow: true, causes }
}

/** Runs `work` in a snapshot, so that all statements see the same instant. */
const inSnapshot = <T>(
  { db, projectId }: Context,
  id: string,
  work: (tx: Queryable, asked: Omit<Asked, 'now'>) => Promise<T>,
): Promise<T> =>
  db.snapshot(
    async (tx) => {
      const [task] = await tx.run(findTasks({ projectId, id, limit: 1 }))
      if (!task) return notFound(id)
      const [begin] = await tx.run(historyBeginOf(projectId))
      return work(tx, { task, historyFrom: begin?.at ?? Number.NEGATIVE_INFINITY })
    },
    { inOrder: true },
  )

/**
 * Explains an instant in the past. What is recorded about the run that waited is read from a slightly later snapshot, which
 * does not matter because all of it is in the past.
 */
async function explainThen(
  context: Context,
  { taskId, at, now }: { readonly taskId: string; readonly at: number; readonly now: number },
): Promise<Why[]> {
  const read = await inSnapshot(context, taskId, (tx, asked) => readThen(tx, { ...asked, at, now }))
  const run = waiterAt(read.runs, at)
  if (!run) return whyThen({ ...read, recorded: NOTHING_RECORDED })
  const { db, projectId, deadNodeMinutes, shardTakeoverMs: takeoverMs } = context
  const waitedAt = run.reason === null ? at : Math.min(at, (run.endedAt ?? at) - 1)
  const nodesKnownFrom = now - deadNodeMinutes * 60_000
  const waited = { projectId, taskId, at: waitedAt, run, nodesKnownFrom, takeoverMs }
  const recorded = await whatIsRecorded(db, waited)
  return whyThen({ ...read, recorded })
}

interface Asked {
  readonly task: TaskRow
  readonly now: number
  readonly historyFrom: number
}

async function explainNow(tx: Queryable, { task, now, historyFrom }: Asked): Promise<Why[]> {
  const { id: taskId, definition, projectId } = task
  const live = await tx.run(store.liveRuns({ taskId, limit: MAX_LIVE }))
  const [pause] = await tx.run(store.pauseNow(taskId))
  const pending = live.find(({ state }) => state === 'pending')
  const { id: ownLane, queue, labels, handler, gate } = laneOf(projectId, definition)
  const unknown = {
    ...NOTHING_WAITS,
    queue,
    labels,
    handler,
    key: gate?.key ?? null,
    isMissing: pending !== undefined,
  }
  const [waiting = unknown] = await tx.run(
    store.waitingIn({ lane: pending?.lane ?? ownLane, before: pending ?? null, limit: MAX_AHEAD }),
  )
  const needs = { ...waiting, labels: withoutSecretsLabel(waiting.labels) }
  const [workers = { alive: 0, capable: 0, remote: 0, places: 0 }] = await tx.run(
    store.workersFor({ ...needs, projectId }),
  )
  const shard = shardOf(taskId)
  const [watcher] = await tx.run(store.watcherOf(shard))
  const blackouts = await tx.run(blackoutsAt({ projectId, at: now }))
  const [latest] = await tx.run(latestOccurrence(taskId))
  const [last = null] = live.length === 0 ? await tx.run(occurrenceBefore({ taskId, from: FAR_AHEAD })) : []
  return whyNow({
    taskId,
    now,
    definition,
    createdAt: task.createdAt,
    pausedAt: task.pausedAt,
    cancelledAt: task.cancelledAt,
    pauseReason: pause?.pauseReason ?? null,
    resumeAt: pause?.resumeAt ?? null,
    live,
    last: last && { runId: last.runId, state: last.state, endedAt: last.endedAt ?? now },
    waiting: needs,
    target: await awaitedTarget(tx, { projectId, definition, line: pending?.line ?? null }),
    secrets: definition.secrets && (await awaitedSecrets(tx, task, readersOf(handler, workers))),
    files: await awaitedFiles(tx, task, pause?.awaitsFiles ?? false),
    workers,
    watcher: {
      shard,
      isWatched: watcher !== undefined && isWatched(watcher),
      watchedUntil: watcher?.watchedUntil ?? now,
    },
    blackout: inForce(blackouts, now),
    latest: latest?.until ?? null,
    lastEndedAt: last?.endedAt ?? null,
    ordinal: Math.max(pause?.nextOrdinal ?? 1, latest?.nextOrdinal ?? 1),
    historyFrom,
  })
}

/** Returns those of the files that a task names that are not uploaded. */
async function awaitedFiles(
  tx: Queryable,
  { projectId, definition: { action }, pausedAt }: TaskRow,
  isAwaited: boolean,
): Promise<AwaitedFiles | null> {
  const ids = fileIdsOf(action)
  if (ids.length === 0) return null
  const missing = await tx.run(missingFiles(projectId, ids))
  return { missing, since: isAwaited && missing.length > 0 ? pausedAt : null }
}

/** Returns which of the secrets that a task refers to are missing, and whether any node can read the others. */
async function awaitedSecrets(
  tx: Queryable,
  { projectId, definition: { secrets } }: TaskRow,
  readers: readonly string[],
): Promise<AwaitedSecrets> {
  const missing = (await tx.run(missingSecrets(projectId, secrets ?? []))).map(({ name }) => name)
  const [ready] = await tx.run(isAnyRoleReady(readers))
  return { missing, isReadable: ready?.isReady ?? false }
}

/**
 * The roles of nodes that can read secrets for a run. A remote worker gets the values from the api node that it is connected
 * to.
 */
const readersOf = (handler: string | null, { remote }: Workers): readonly string[] => [
  ...(handler === null ? ['worker'] : []),
  ...(handler !== null || remote > 0 ? ['api'] : []),
]

const NOTHING_WAITS: Omit<Waiting, 'queue' | 'labels' | 'handler' | 'key' | 'isMissing'> = {
  queuePausedAt: null,
  queueLimit: null,
  queueHeld: 0,
  queueRate: null,
  projectLimit: null,
  projectHeld: 0,
  projectRate: null,
  projectOpensAt: null,
  queueOpensAt: null,
  keyLimit: null,
  keyHeld: 0,
  keyRate: null,
  keyOpensAt: null,
  ahead: 0,
}

/** Reads what the task, its runs and its project record about an instant in the past. */
async function readThen(
  tx: Queryable,
  { task, at, now, historyFrom }: Asked & { at: number },
): Promise<Omit<ThenCase, 'recorded'>> {
  const { id: taskId, createdAt, cancelledAt, version, definition, pausedAt } = task
  const runs = await tx.run(store.runsUpTo({ taskId, at, limit: MAX_PAST }))
  const open = runs.find((run) => wasOpen(run, at))
  const attempts = open ? await tx.run(store.attemptsOf({ runId: open.runId, from: open.scheduledFor })) : []
  const [recorded] = await tx.run(store.pauseAt({ taskId, at }))
  const present = pausedAt !== null && pausedAt <= at ? { pausedAt, resumedAt: null, reason: null } : null
  const blackouts = await tx.run(blackoutsAt({ projectId: task.projectId, at }))
  const past = await tx.run(pastVersions({ taskId, from: at, limit: MAX_VERSIONS }))
  return {
    taskId,
    at,
    now,
    createdAt,
    endedAt: cancelledAt,
    historyFrom,
    runs,
    attempts,
    pause: recorded ?? present,
    blackout: inForce(blackouts, at),
    versions: [...past.reverse(), { version, definition, until: null }],
  }
}
