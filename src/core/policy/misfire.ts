/**
 * Decides, by the misfire policy of their task, what happens to missed occurrences. All missed occurrences of a task in one
 * unwatched period are decided together: the newest runs, or all of them, or none. Pure, and the only implementation: the
 * scheduler uses it after an outage, an edit when it finds missed occurrences, and the audit when a row was lost.
 */
import { lastOccurrence, lastOccurrences } from '../schedule/last-occurrence.ts'
import { jitterOf } from '../schedule/occurrences.ts'
import type { Plan } from '../schedule/schedule.ts'
import { durationMs, type Misfire } from '../task/task.ts'
import type { Steps } from '../values/steps.ts'

/** The missed occurrences of a task. Instants are epoch milliseconds. */
export interface Missed {
  readonly plan: Plan
  readonly misfire: Misfire
  readonly now: number
  readonly first: number
  /** The last instant at which an occurrence is considered. */
  readonly end: number
  /** How many more runs the task may have; null if there is no limit. */
  readonly runsLeft: number | null
  /** The unwatched period was so short that the latest occurrence runs under every policy; see `isBrief`. */
  readonly isBrief: boolean
  /** A later occurrence of the same period runs, so none of these is the newest. */
  readonly hasNewer?: boolean
}

/** A period in which no node watched the shard of a task. */
export interface Unwatched {
  readonly from: number
  readonly to: number
}

/** The unwatched period that contains an instant; if several do, the one that ended last. */
export function stretchAt(stretches: readonly Unwatched[], at: number): Unwatched | null {
  const [latest] = stretches
    .filter(({ from, to }) => at > from && at <= to)
    .sort((a, b) => b.to - a.to || a.from - b.from)
  return latest ?? null
}

/**
 * Whether a period is within the grace. The newest occurrence of such a period runs late under every policy, so a task whose
 * schedule comes due once during a takeover by another node loses no run.
 */
export const isBrief = ({ from, to }: Unwatched, graceMs: number): boolean => to - from <= graceMs

/** What the policy decides about the missed occurrences. */
export interface MisfireDecision {
  /** The occurrences that run, in chronological order. */
  readonly runs: readonly number[]
  /** The last of the occurrences that do not run, all of which precede those that run; null if all run. */
  readonly passedUntil: number | null
  /** Whether the occurrences that do not run are recorded as failed rather than skipped. */
  readonly hasFailed: boolean
}

/** Decides in steps, because there may be many thousands of occurrences. */
export function* misfireSteps(it: Missed): Steps<MisfireDecision> {
  const { plan, misfire, first, end } = it
  const latest = lastOccurrence(plan, { from: first, to: end })
  const hasFailed = misfire.policy === 'fail' && !it.isBrief
  if (hasFailed || isPassedOver(it, latest)) return { runs: [], passedUntil: latest, hasFailed }
  const runs = misfire.policy === 'run_all' ? yield* latestOf(it) : [latest]
  const begin = runs[0] ?? latest
  const passedUntil = begin > first ? lastOccurrence(plan, { from: first, to: begin - 1 }) : null
  return { runs, passedUntil, hasFailed: false }
}

/** Whether none of the occurrences runs, not even the latest. */
function isPassedOver({ misfire, now, isBrief, hasNewer = false }: Missed, latest: number): boolean {
  if (hasNewer && misfire.policy !== 'run_all') return true
  return !isBrief && (misfire.policy === 'skip' || latest < now - durationMs(misfire.window))
}

/** The latest occurrences, up to the limit of the policy. A chain has only one. */
function* latestOf({ plan, misfire, now, first, end, runsLeft, isBrief }: Missed): Steps<number[]> {
  if (plan.schedule.type === 'delay') return [first]
  const from = isBrief ? first : Math.max(first, Math.ceil(now - durationMs(misfire.window)))
  const instants = yield* lastOccurrences(plan, { from, to: end, limit: misfire.cap })
  return instants.slice(0, Math.max(1, runsLeft ?? misfire.cap))
}

/** A missed occurrence that gets a catch-up run. */
export interface CatchUpOccurrence {
  readonly at: number
  /** When the run is due. Catch-up runs are spread, so that they do not all start at once. */
  readonly wakeAt: number
  /** The jitter of the occurrence, if any: the run does not start before it has passed, and is not delayed by it again. */
  readonly jitterMs?: number
}

/** Assigns each run its due time, at the rate of the policy. */
export function* spread(
  { plan, misfire, now }: Pick<Missed, 'plan' | 'misfire' | 'now'>,
  runs: readonly number[],
): Steps<CatchUpOccurrence[]> {
  const spreadOut: CatchUpOccurrence[] = []
  for (const [n, at] of runs.entries()) {
    const jitterMs = plan.jitterMs ? jitterOf(plan, at) : 0
    const wakeAt = Math.max(Math.floor(now + (n * 1_000) / misfire.rate), at + jitterMs)
    spreadOut.push(jitterMs === 0 ? { at, wakeAt } : { at, wakeAt, jitterMs })
    yield
  }
  return spreadOut
}

/** The error that history records for occurrences that failed because no scheduler ran or because their row was lost. */
export const misfired = (how: 'missed' | 'lost') =>
  ({
    code: 'misfired',
    message:
      how === 'missed'
        ? 'The occurrence was missed because no scheduler was running, and the misfire policy of the task is fail.'
        : 'The row of the occurrence was missing, and the misfire policy of the task is fail.',
  }) as const
