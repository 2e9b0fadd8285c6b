/** Computes and writes the next runs of a backfill: how many, for which occurrences, and when each may start. */

import { shardOf, uuidv7 } from '../core/ids.ts'
import { BEHIND_ON_TIME, nextOfRange } from '../core/policy/backfill.ts'
import { catchUpLaneOf, laneOf } from '../core/run/lane.ts'
import { type KeptDefinition, planOf } from '../core/task/task.ts'
import { rateGapMs } from '../core/values/rate.ts'
import { inTurns } from '../runtime/turns.ts'
import { type BackfillRun, insertBackfillRuns, unfilled } from '../store/backfills/backfill-runs.ts'
import type { BackfillProgress, LockedBackfill } from '../store/backfills/backfills.ts'
import type { Queryable } from '../store/database/database.ts'
import type { DueHint } from '../transport/wake-ups.ts'

/** A backfill that waits for its own runs is looked at again after this time. */
const SOON_MS = 50
/** Maximum number of live runs per backfill. It keeps the search for runs that are due on time from scanning many backfill rows. */
const MAX_LIVE = 500
/** Number of occurrences examined beyond the room available, because some of them need no run. */
const EXAMINED_BEYOND = 200
/** Under a rate, runs are written this long before they may begin. */
const AHEAD_MS = 2_000

/** Where a slice is written, and its maximum size. */
export interface Slice {
  readonly backfill: LockedBackfill
  readonly definition: KeptDefinition
  readonly room: number
}

/** Writes the next slice and returns the backfill's progress. */
export async function writeSlice(
  tx: Queryable,
  { backfill, definition, room }: Slice,
  hints: DueHint[],
): Promise<BackfillProgress> {
  const { taskId, projectId, force, now } = backfill
  const limit = room + EXAMINED_BEYOND
  const examined = await inTurns(nextOfRange(planOf(definition), backfill, limit))
  const wanted = new Set(
    examined.length === 0
      ? []
      : (await tx.run(unfilled({ taskId, instants: examined, force }))).map(({ at }) => Math.round(at)),
  )
  const taken = examined.filter((at) => wanted.has(at)).slice(0, room)
  const isCut = taken.length < wanted.size
  const seen = isCut ? examined.indexOf(taken.at(-1) as number) + 1 : examined.length
  const gapMs = gapOf(backfill)
  const firstAt = Math.max(now, backfill.nextAt)
  const runs = taken.map(
    (at, i): BackfillRun => ({ runId: uuidv7(), at, wakeAt: Math.ceil(firstAt + i * gapMs) }),
  )
  const shard = shardOf(taskId)
  if (runs.length > 0) {
    const lane = laneOf(projectId, definition).id
    const priority = definition.priority + BEHIND_ON_TIME
    await tx.run(
      insertBackfillRuns(runs, { backfill, shard, lane, catchUpLane: catchUpLaneOf(lane), priority }),
    )
    hints.push({ shard, at: runs[0]?.wakeAt ?? now, until: runs.at(-1)?.wakeAt ?? now })
  }
  const started = backfill.started + taken.length
  const isWritten = (!isCut && examined.length < limit) || started === backfill.maxRuns
  const nextAt = taken.length === 0 ? backfill.nextAt : firstAt + taken.length * gapMs
  return {
    id: backfill.id,
    position: examined[seen - 1] ?? backfill.position,
    started,
    passedOver: backfill.passedOver + seen - taken.length,
    isWritten,
    nextAt,
    lookAt: taken.length === 0 ? now : lookAgainAt({ ...backfill, nextAt }),
  }
}

const gapOf = ({ rate }: Pick<LockedBackfill, 'rate'>): number => (rate === null ? 0 : rateGapMs(rate))

/** Returns how many runs may be written now: limited by the room, by the rate and by the number still requested. */
export function roomFor(backfill: LockedBackfill, live: { own: number; active: number }): number {
  const { rate, now, nextAt, oneByOne, maxRuns, started } = backfill
  const places = oneByOne ? (live.active === 0 ? 1 : 0) : MAX_LIVE - live.own
  // A slice has about the same cost for one run as for many, so the next one waits until half of the last one has finished.
  const room = oneByOne || live.own <= MAX_LIVE / 2 ? places : 0
  const left = maxRuns === null ? room : Math.min(room, maxRuns - started)
  if (rate === null) return left
  const soonMs = now + AHEAD_MS - Math.max(now, nextAt)
  return soonMs < 0 ? 0 : Math.min(left, Math.floor(soonMs / gapOf(backfill)) + 1)
}

/** Returns when there may be room again. */
export const lookAgainAt = ({ now, nextAt }: Pick<LockedBackfill, 'now' | 'nextAt'>): number =>
  Math.max(now + SOON_MS, nextAt - AHEAD_MS / 2)
