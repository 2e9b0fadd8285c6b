/**
 * What becomes of occurrences that came due while nobody was there to fire them, as the misfire policy of their task
 * says. Those of one task that came due in one unwatched stretch are decided about together: the newest runs, or all
 * of them, or none. Pure, and the only place that knows: the scheduler asks after an outage, an edit when it finds
 * occurrences missed, the audit when a row was lost.
 */
import { lastOccurrence, lastOccurrences } from '../schedule/last-occurrence.ts'
import { jitterOf } from '../schedule/occurrences.ts'
import type { Plan } from '../schedule/schedule.ts'
import { durationMs, type Misfire } from '../task/task.ts'
import type { Steps } from '../values/steps.ts'

/** Occurrences that were missed. Instants are epoch milliseconds. */
export interface Missed {
  readonly plan: Plan
  readonly misfire: Misfire
  readonly now: number
  readonly first: number
  /** They are looked for up to here. */
  readonly end: number
  /** How many runs the task may still have; null: any number. */
  readonly runsLeft: number | null
  /** The stretch was so short that something of it runs, whatever the policy: see `isBrief`. */
  readonly isBrief: boolean
  /** An occurrence later in the same stretch runs, so that of these none is the newest. */
  readonly hasNewer?: boolean
}

/** A stretch of time in which nobody watched the shard of a task. */
export interface Unwatched {
  readonly from: number
  readonly to: number
}

/** The stretch that an instant lies in; of several that overlap, the one that ended last. */
export function stretchAt(stretches: readonly Unwatched[], at: number): Unwatched | null {
  const [latest] = stretches
    .filter(({ from, to }) => at > from && at <= to)
    .sort((a, b) => b.to - a.to || a.from - b.from)
  return latest ?? null
}

/** What is held up for no longer than the grace simply runs late: a node that takes over from another costs nobody a run. */
export const isBrief = ({ from, to }: Unwatched, graceMs: number): boolean => to - from <= graceMs

/** What is done about them. */
export interface MakingUp {
  /** Those that run, in order. */
  readonly runs: readonly number[]
  /** The last of those before them, from the first on, that do not; null when all run. */
  readonly passedUntil: number | null
  /** Those that do not run have failed rather than been skipped. */
  readonly hasFailed: boolean
}

/** They may be many thousands, so this is done in steps. */
export function* makeUpSteps(it: Missed): Steps<MakingUp> {
  const { plan, misfire, first, end } = it
  const latest = lastOccurrence(plan, { from: first, to: end })
  const hasFailed = misfire.policy === 'fail' && !it.isBrief
  if (hasFailed || isPassedOver(it, latest)) return { runs: [], passedUntil: latest, hasFailed }
  const runs = misfire.policy === 'run_all' ? yield* latestOf(it) : [latest]
  const begin = runs[0] ?? latest
  const passedUntil = begin > first ? lastOccurrence(plan, { from: first, to: begin - 1 }) : null
  return { runs, passedUntil, hasFailed: false }
}

/** Whether not even the latest of them runs. */
function isPassedOver({ misfire, now, isBrief, hasNewer = false }: Missed, latest: number): boolean {
  if (hasNewer && misfire.policy !== 'run_all') return true
  return !isBrief && (misfire.policy === 'skip' || latest < now - durationMs(misfire.window))
}

/** The latest of them, as many as are made up for. A chain has no more than one. */
function* latestOf({ plan, misfire, now, first, end, runsLeft, isBrief }: Missed): Steps<number[]> {
  if (plan.schedule.type === 'delay') return [first]
  const from = isBrief ? first : Math.max(first, Math.ceil(now - durationMs(misfire.window)))
  const instants = yield* lastOccurrences(plan, { from, to: end, limit: misfire.cap })
  return instants.slice(0, Math.max(1, runsLeft ?? misfire.cap))
}

/** An occurrence that is made up for. */
export interface MadeUp {
  readonly at: number
  /** When it is due to be made up for: they are spread, so that they do not all come at once. */
  readonly wakeAt: number
  /** By how much it would have been put off on time, if it would: it is not made up for before, nor put off again. */
  readonly jitterMs?: number
}

/** Those that run, each a little after the one before. */
export function* spread(
  { plan, misfire, now }: Pick<Missed, 'plan' | 'misfire' | 'now'>,
  runs: readonly number[],
): Steps<MadeUp[]> {
  const spreadOut: MadeUp[] = []
  for (const [n, at] of runs.entries()) {
    const jitterMs = plan.jitterMs ? jitterOf(plan, at) : 0
    const wakeAt = Math.max(Math.floor(now + (n * 1_000) / misfire.rate), at + jitterMs)
    spreadOut.push(jitterMs === 0 ? { at, wakeAt } : { at, wakeAt, jitterMs })
    yield
  }
  return spreadOut
}

/** What the row of history says that speaks for occurrences that failed because nobody was there. */
export const misfired = (how: 'missed' | 'lost') =>
  ({
    code: 'misfired',
    message:
      how === 'missed'
        ? 'The occurrence was missed because no scheduler was running, and the misfire policy of the task is fail.'
        : 'The row of the occurrence was missing, and the misfire policy of the task is fail.',
  }) as const
