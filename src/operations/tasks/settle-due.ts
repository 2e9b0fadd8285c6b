/**
 * Decides what happens, when a schedule is edited, to occurrences that came due before the edit and have not been fired. They
 * belong to the old version up to the moment of the edit, and all of them are recorded: the latest one runs and those before it
 * are skipped, with the reason `edited`. If the shard was unwatched while all of them came due, they follow the misfire policy
 * instead.
 */
import { shardOf, uuidv7 } from '../../core/ids.ts'
import {
  isBrief,
  type MisfireDecision,
  misfired,
  misfireSteps,
  spread,
  type Unwatched,
} from '../../core/policy/misfire.ts'
import { catchUpLaneOf, laneOf } from '../../core/run/lane.ts'
import { lastOccurrence } from '../../core/schedule/last-occurrence.ts'
import { countSteps, dueAt, jitterOf, MAX_COUNTED, nextOccurrence } from '../../core/schedule/occurrences.ts'
import type { Plan } from '../../core/schedule/schedule.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import type { Steps } from '../../core/values/steps.ts'
import { inTurns } from '../../runtime/turns.ts'
import { insertCatchUpRuns } from '../../store/agenda/catch-up.ts'
import { unwatchedAt } from '../../store/agenda/shards.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import type { SweptRow } from '../../store/tasks/next-row.ts'
import { insertSkip } from '../../store/tasks/skips.ts'
import type { Context } from '../context.ts'
import { chainDelay } from './define-task.ts'
import { writeNext } from './settle.ts'

/** A task, and its new definition. */
export interface Change {
  readonly context: Pick<Context, 'shardTakeoverMs' | 'misfireGraceMs'>
  readonly task: LockedTask
  readonly definition: TaskDefinition
  readonly version: number
  readonly projectId: string
  readonly now: number
}

/**
 * Returns whether a row that is due can simply continue under the new definition: neither schedule has an occurrence between it
 * and now, or both are due at the same instants. Always false for a one-off, since no row follows it.
 */
export function goesOnFrom({ task, definition, now }: Change, at: number): boolean {
  if (definition.schedule.type === 'once') return false
  const [before, after] = [planOf(task.definition), planOf(definition)]
  const hasEnded = before.endAt !== null && before.endAt <= now
  if (!hasEnded && instants(before) === instants(after)) return true
  return [before, after].every((plan) => (nextOccurrence(plan, at) ?? Number.POSITIVE_INFINITY) > now)
}

/** Returns what determines when a plan is due between its bounds, as text to compare. */
const instants = ({ schedule, startAt, anchorAt, seed }: Plan) =>
  JSON.stringify([schedule, startAt, anchorAt, seed])

/** Records all due occurrences from a row on; returns those that run. The last of them continues a chain. */
export async function settleDue(tx: Queryable, change: Change, due: SweptRow): Promise<number[]> {
  const { task, definition, version, projectId, now } = change
  const { scheduledFor: first, ordinal } = due
  const plan = planOf(task.definition)
  const stretch = await missedIn(tx, change, due)
  const isMissed = stretch !== null
  const { runs, passedUntil, hasFailed } = await inTurns(fateOf(change, due, stretch))
  if (passedUntil !== null) {
    const later = await inTurns(countSteps(plan, first, passedUntil, MAX_COUNTED))
    await tx.run(
      insertSkip({
        runId: uuidv7(),
        taskId: task.id,
        projectId,
        version: task.version,
        ordinal,
        reason: isMissed ? 'misfire' : 'edited',
        error: hasFailed ? misfired('missed') : null,
        first,
        last: passedUntil,
        count: later.atLeast ? null : later.count + 1,
      }),
    )
  }
  const delayMs = chainDelay(definition)
  const row = { taskId: task.id, projectId, definition, version }
  const isOne = definition.misfire.policy !== 'run_all' || !isMissed
  const missed = isOne ? [] : delayMs === null ? runs : runs.slice(0, -1)
  const lane = laneOf(projectId, definition).id
  if (missed.length > 0)
    await tx.run(
      insertCatchUpRuns({
        ...{
          taskId: task.id,
          projectId,
          shard: shardOf(task.id),
          version,
          ordinal,
          lane,
          catchUpLane: catchUpLaneOf(lane),
        },
        priority: definition.priority,
        runs: (await inTurns(spread({ plan, misfire: definition.misfire, now }, missed))).map((one) => ({
          runId: uuidv7(),
          ...one,
        })),
      }),
    )
  for (const [n, at] of runs.slice(missed.length).entries())
    await writeNext(tx, {
      ...row,
      at,
      ordinal: ordinal + missed.length + n,
      delayMs,
      kind: delayMs === null ? 'catchup' : 'occurrence',
      jitterMs: jitterOf(plan, at),
    })
  return [...runs]
}

/** Jitter delays how an occurrence is handled, but does not change whether it is due: the edit covers all occurrences up to now. */
function fateOf(change: Change, due: SweptRow, stretch: Unwatched | null): Steps<MisfireDecision> {
  const { context, task, definition, now } = change
  const { misfire, maxRuns } = definition
  return misfireSteps({
    plan: { ...planOf(task.definition), jitterMs: 0 },
    misfire: stretch === null ? { ...misfire, policy: 'run_once' } : misfire,
    now,
    first: due.scheduledFor,
    end: now,
    runsLeft: maxRuns === null ? null : maxRuns - due.ordinal + 1,
    // An occurrence that is late for another reason than an outage runs, however late it is.
    isBrief: stretch === null || isBrief(stretch, context.misfireGraceMs),
  })
}

/** Returns the unwatched period in which all of the occurrences came due; null if there is none. */
async function missedIn(
  tx: Queryable,
  { context, task, now }: Change,
  { scheduledFor: first }: SweptRow,
): Promise<Unwatched | null> {
  const plan = planOf(task.definition)
  const instant = { shard: shardOf(task.id), at: dueAt(plan, first), takeoverMs: context.shardTakeoverMs }
  const [stretch] = await tx.run(unwatchedAt(instant))
  return stretch && lastOccurrence(plan, { from: first, to: now }) <= stretch.to ? stretch : null
}
