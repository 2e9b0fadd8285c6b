/** Why a task is not running, now or at an instant that has passed: what is read for the answer. */

import { shardOf } from '../../core/ids.ts'
import { inForce } from '../../core/policy/blackout.ts'
import { laneOf } from '../../core/run/lane.ts'
import { type Waiting, whyNow } from '../../core/why/now.ts'
import type { Recorded } from '../../core/why/recorded.ts'
import { wasOpen, whyThen } from '../../core/why/then.ts'
import type { Why } from '../../core/why/why.ts'
import type { Queryable } from '../../store/database/database.ts'
import { occurrenceBefore, pastVersions } from '../../store/history/ledger.ts'
import { historyBegin } from '../../store/history/run-search.ts'
import { blackoutsAt } from '../../store/projects/blackouts.ts'
import { latestOccurrence } from '../../store/tasks/task-statements.ts'
import { findTasks, type TaskRow } from '../../store/tasks/tasks.ts'
import * as store from '../../store/tasks/why.ts'
import type { Context } from '../context.ts'
import { isWatched } from '../overview/cluster.ts'
import { notFound } from '../tasks/read-tasks.ts'

/** Live rows of the task that are looked at. */
const MAX_LIVE = 200
/** Runs before the instant that are looked at. */
const MAX_PAST = 50
/** Runs that wait before one are counted up to this. */
export const MAX_AHEAD = 1_000
const MAX_VERSIONS = 200
const FAR_AHEAD = 8_640_000_000_000_000

/** The causes, the one that counts first, and the instant they are about. */
export interface WhyAnswer {
  readonly at: number
  readonly isNow: boolean
  readonly causes: readonly Why[]
}

/** All statements see one instant. */
export function explainTask(
  { db, clock, projectId }: Context,
  id: string,
  at: number | null,
): Promise<WhyAnswer> {
  return db.snapshot(
    async (tx) => {
      const [task] = await tx.run(findTasks({ projectId, id, limit: 1 }))
      if (!task) return notFound(id)
      const now = Math.floor(clock.now())
      const [begin] = await tx.run(historyBegin())
      const historyFrom = begin?.at ?? Number.NEGATIVE_INFINITY
      const causes =
        at === null
          ? await explainNow(tx, { task, now, historyFrom })
          : await explainThen(tx, { task, at, now, historyFrom })
      return { at: at ?? now, isNow: at === null, causes }
    },
    { inOrder: true },
  )
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
  const [workers = { alive: 0, capable: 0, places: 0 }] = await tx.run(store.workersFor(waiting))
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
    waiting,
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

const NOTHING_WAITS: Omit<Waiting, 'queue' | 'labels' | 'handler' | 'key' | 'isMissing'> = {
  queuePausedAt: null,
  queueLimit: null,
  queueHeld: 0,
  keyLimit: null,
  keyHeld: 0,
  ahead: 0,
}

async function explainThen(
  tx: Queryable,
  { task, at, now, historyFrom }: Asked & { at: number },
): Promise<Why[]> {
  const { id: taskId, createdAt, cancelledAt, version, definition, pausedAt } = task
  const runs = await tx.run(store.runsUpTo({ taskId, at, limit: MAX_PAST }))
  const open = runs.find((run) => wasOpen(run, at))
  const attempts = open ? await tx.run(store.attemptsOf({ runId: open.runId, from: open.scheduledFor })) : []
  const [recorded] = await tx.run(store.pauseAt({ taskId, at }))
  const present = pausedAt !== null && pausedAt <= at ? { pausedAt, resumedAt: null, reason: null } : null
  const blackouts = await tx.run(blackoutsAt({ projectId: task.projectId, at }))
  const past = await tx.run(pastVersions({ taskId, from: at, limit: MAX_VERSIONS }))
  return whyThen({
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
    recorded: await whatIsRecorded(tx, { taskId, at, runId: open?.runId ?? null }),
    versions: [...past.reverse(), { version, definition, until: null }],
  })
}

/** A run that waited in a queue which is still paused waits there still, so its live row names the queue. */
async function whatIsRecorded(
  tx: Queryable,
  { taskId, at, runId }: { taskId: string; at: number; runId: string | null },
): Promise<Recorded> {
  const live = runId === null ? [] : await tx.run(store.liveRuns({ taskId, limit: MAX_LIVE }))
  const waits = live.find((run) => run.runId === runId && run.state === 'pending')
  const [place] = waits ? await tx.run(store.waitingIn({ lane: waits.lane, before: null, limit: 1 })) : []
  const since = place?.queuePausedAt ?? null
  return { pausedQueue: place && since !== null && since <= at ? { name: place.queue, since } : null }
}
