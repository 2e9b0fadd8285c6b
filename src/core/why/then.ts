/**
 * Why a task was not running at an instant in the past. Pure: it uses what history, versions and pauses record about that
 * instant. What is not recorded (which worker had a free slot, whether a queue was full) is not guessed.
 */
import { expectedBetween, type Owing } from '../ledger/expected.ts'
import { roughly } from '../words/time.ts'
import type { Blackout } from './now.ts'
import { type Recorded, recordedCauses } from './recorded.ts'
import { because, instant, type Why, type WhyCode } from './why.ts'

/** A run of the task that was due at or before the instant, live or ended. */
export interface PastRun {
  readonly runId: string
  readonly kind: string
  readonly state: string
  readonly reason: string | null
  readonly scheduledFor: number
  readonly coversUntil: number | null
  /** Start of the last attempt. */
  readonly startedAt: number | null
  readonly endedAt: number | null
  /** Time from the due instant to the start of the first attempt. */
  readonly lateMs: number | null
  readonly attempt: number
  /** The version of the task that the run belongs to. */
  readonly version: number
}

/** An attempt that another attempt of the same run followed. */
export interface PastAttempt {
  readonly runId: string
  readonly number: number
  readonly outcome: string
  readonly startedAt: number | null
  readonly endedAt: number
}

/** A pause of the task. */
export interface Pause {
  readonly pausedAt: number
  readonly resumedAt: number | null
  readonly reason: string | null
}

/** All that the answer depends on. */
export interface ThenCase extends Owing {
  readonly taskId: string
  readonly at: number
  readonly now: number
  /** History before this instant was deleted. */
  readonly historyFrom: number
  /** Runs that were due at or before the instant, the latest first. */
  readonly runs: readonly PastRun[]
  readonly attempts: readonly PastAttempt[]
  readonly pause: Pause | null
  /** The blackout of the project that was in force. */
  readonly blackout: Blackout | null
  /** What is recorded about the lane in which its runs waited. */
  readonly recorded: Recorded
}

/** Whether a run was active at the instant. A row with a reason for not running never was. */
export const wasOpen = (run: PastRun, at: number): boolean =>
  run.reason === null && (run.endedAt === null || run.endedAt > at)

/** The reason of a run that exceeded its queue timeout. */
const GIVEN_UP = 'queue_timeout'

/** The run that may have waited at the instant or was the last to wait: an active run, or one that exceeded its queue timeout. */
export function waiterAt(runs: readonly PastRun[], at: number): PastRun | undefined {
  const [latest] = runs.filter(({ kind }) => kind !== 'manual')
  return runs.find((run) => wasOpen(run, at)) ?? (latest?.reason === GIVEN_UP ? latest : undefined)
}

export function whyThen(it: ThenCase): Why[] {
  const { at, createdAt, historyFrom, endedAt } = it
  if (at < createdAt)
    return [
      {
        code: 'not_created',
        sentence: `The task did not exist yet: it was created at ${instant(createdAt)}.`,
        facts: { since: createdAt },
        advice: null,
      },
    ]
  const open = it.runs.find((run) => wasOpen(run, at))
  if (open) return openThen(it, open)
  if (at < historyFrom)
    return [
      {
        code: 'before_history',
        sentence: `The history of that time was deleted; it begins at ${instant(historyFrom)}.`,
        facts: { since: historyFrom },
        advice:
          'To keep history longer: belfry project edit --keep-history 90d, or a larger --history-days on all nodes',
      },
    ]
  if (endedAt !== null && at >= endedAt)
    return [
      {
        code: 'cancelled',
        sentence: `The task was cancelled at ${instant(endedAt)}.`,
        facts: { since: endedAt },
        advice: null,
      },
    ]
  const causes = [...pausedThen(it), ...skippedThen(it)]
  const known = causes.some(({ code }) => code === 'blackout')
  return [...(causes.length > 0 ? causes : [betweenRuns(it)]), ...(known ? [] : blackoutThen(it))]
}

/** The causes if a run was active: it ran, waited for its next attempt, or waited for a worker. */
function openThen({ taskId, at, attempts, now, blackout, recorded }: ThenCase, run: PastRun): Why[] {
  const facts = { runId: run.runId, runState: run.state, scheduledFor: run.scheduledFor }
  const first = run.lateMs === null ? run.startedAt : run.scheduledFor + run.lateMs
  const own = attempts.filter(({ runId }) => runId === run.runId)
  const during = own.find(({ startedAt, endedAt }) => (startedAt ?? endedAt) <= at && at < endedAt)
  const isLastAttempt = run.startedAt !== null && run.startedAt <= at
  if (during || isLastAttempt)
    return [
      {
        code: 'running',
        sentence: `The task was running: attempt ${during?.number ?? run.attempt} of run ${run.runId}.`,
        facts: {
          ...facts,
          attempt: during?.number ?? run.attempt,
          ...sinceUntil(during?.startedAt ?? run.startedAt, during?.endedAt ?? run.endedAt),
        },
        advice: null,
      },
    ]
  const before = own.filter(({ endedAt }) => endedAt <= at).at(-1)
  if (before && before.outcome !== 'worker_lost')
    return [
      {
        code: 'retry_wait',
        sentence: `Attempt ${before.number} of run ${run.runId} had failed, and the next attempt had not started.`,
        facts: {
          ...facts,
          attempt: before.number,
          ...sinceUntil(before.endedAt, nextStart(own, before, run)),
        },
        advice: `To see the error: belfry run show ${run.runId}`,
      },
    ]
  if (!before && blackout?.effect === 'defer' && run.kind !== 'manual')
    return [
      {
        code: 'blackout',
        sentence: `Run ${run.runId} was due and was deferred until the blackout ${blackout.name} ended at ${instant(blackout.until)}.`,
        facts: { ...facts, name: blackout.name, until: blackout.until },
        advice: null,
      },
    ]
  const since = before?.endedAt ?? run.scheduledFor
  const until = before ? nextStart(own, before, run) : first
  const waited =
    until === null ? `until ${instant(run.endedAt ?? now)} without starting` : `for ${roughly(until - since)}`
  const lost = before ? 'its worker had died, and ' : ''
  const who = `Run ${run.runId} was due and waited ${waited}`
  const known = recordedCauses(recorded, { taskId, who, facts: { ...facts, ...sinceUntil(since, until) } })
  if (known.length > 0) return known
  return [
    {
      code: 'waited',
      sentence: `${who}: ${lost}the reason is not recorded (a full queue, no free worker, or no scheduler).`,
      facts: { ...facts, ...sinceUntil(since, until) },
      advice:
        'To learn the reason, ask while the run is waiting. GET /v1/stats shows the lateness of runs by the minute.',
    },
  ]
}

const nextStart = (own: readonly PastAttempt[], { number }: PastAttempt, run: PastRun): number | null =>
  own.find((attempt) => attempt.number === number + 1)?.startedAt ?? run.startedAt

const sinceUntil = (since: number | null, until: number | null) => ({
  ...(since === null ? {} : { since }),
  ...(until === null ? {} : { until }),
})

function pausedThen({ pause, taskId }: ThenCase): Why[] {
  if (!pause) return []
  const until = pause.resumedAt === null ? ' and is still paused' : ` until ${instant(pause.resumedAt)}`
  return [
    {
      code: 'paused',
      sentence: `The task was paused at ${instant(pause.pausedAt)}${until}${because(pause.reason)}.`,
      facts: {
        ...sinceUntil(pause.pausedAt, pause.resumedAt),
        ...(pause.reason === null ? {} : { reason: pause.reason }),
      },
      advice: pause.resumedAt === null ? `To resume it: belfry task resume ${taskId}` : null,
    },
  ]
}

const SKIPPED: Readonly<Record<string, { code: WhyCode; why: string; advice: string | null }>> = {
  overlap: {
    code: 'overlap',
    why: 'another run of the task was active',
    advice:
      'With the overlap policy "allow", runs start in parallel; with "queue_one" or "queue_all" they wait.',
  },
  overlap_limit: {
    code: 'overlap',
    why: 'another run was active, and the maximum number of runs was already waiting',
    advice: 'The runs take longer than the interval between them.',
  },
  misfire: {
    code: 'misfire',
    why: 'no scheduler was running when it came due, and the misfire policy does not run it',
    advice: 'The misfire policy "run_all" runs every missed occurrence; "run_once" runs the latest one.',
  },
  paused: { code: 'paused', why: 'the task was paused', advice: null },
  file_missing: {
    code: 'file_missing',
    why: 'a file that the task needs had not been uploaded',
    advice: null,
  },
  skip_next: { code: 'skip_next', why: 'a user requested to skip it', advice: null },
  blackout: { code: 'blackout', why: 'a blackout was in force', advice: null },
  edited: { code: 'edited', why: 'an edit changed the schedule before it was fired', advice: null },
  cancelled: { code: 'cancelled', why: 'the task was cancelled before it was fired', advice: null },
  bounds: { code: 'bounds', why: 'an edit lowered maxRuns below it', advice: null },
  lost: {
    code: 'lost',
    why: 'its row was missing when it came due',
    advice: 'The audit restored the row; GET /v1/findings shows when.',
  },
  [GIVEN_UP]: {
    code: 'waited',
    why: 'it waited for a worker for longer than its queueTimeout',
    advice: 'Start more workers, or set a longer queueTimeout.',
  },
}

/** The causes if the latest occurrence did not run. */
function skippedThen(it: ThenCase): Why[] {
  const { taskId, runs, at, pause, blackout, recorded } = it
  const [latest] = runs.filter(({ kind }) => kind !== 'manual')
  if (!latest || latest.reason === null) return []
  const known = SKIPPED[latest.reason]
  if (!known || (known.code === 'paused' && pause)) return []
  const until = latest.coversUntil ?? latest.scheduledFor
  const due = Math.min(until, at)
  const what =
    until > latest.scheduledFor
      ? `The occurrences from ${instant(latest.scheduledFor)} to ${instant(until)}`
      : `The occurrence at ${instant(latest.scheduledFor)}`
  const holder = known.code === 'overlap' ? runs.find((run) => wasOpenAt(run, latest)) : undefined
  const waiter = {
    taskId,
    who: `${what} waited for longer than its queueTimeout`,
    facts: { runId: latest.runId, runState: latest.state, scheduledFor: due, reason: latest.reason },
  }
  return [
    ...(latest.reason === GIVEN_UP ? recordedCauses(recorded, waiter) : []),
    {
      code: known.code,
      sentence: `${what} ${until > latest.scheduledFor ? 'were' : 'was'} ${latest.state === 'skipped' ? 'skipped' : 'recorded as failed'}: ${known.why}${holder ? ` (run ${holder.runId})` : ''}.`,
      facts: {
        runId: holder?.runId ?? latest.runId,
        runState: holder?.state ?? latest.state,
        scheduledFor: due,
        reason: latest.reason,
        ...(known.code === 'blackout' && blackout ? { name: blackout.name } : {}),
        ...(until > latest.scheduledFor ? { since: latest.scheduledFor, until } : {}),
      },
      advice: known.advice,
    },
  ]
}

/** Whether a run was active when another one was skipped. */
const wasOpenAt = (run: PastRun, skip: PastRun): boolean =>
  run.runId !== skip.runId &&
  run.reason === null &&
  (run.endedAt === null || run.endedAt >= (skip.endedAt ?? skip.scheduledFor) - WRITTEN_MS)

/** Tolerance, because an end is recorded shortly after it happened. */
const WRITTEN_MS = 1_000

function blackoutThen({ blackout }: ThenCase): Why[] {
  if (!blackout) return []
  const { name, until } = blackout
  return [
    {
      code: 'blackout',
      sentence: `The blackout ${name} was in force until ${instant(until)}; no schedule fired.`,
      facts: { name, until },
      advice: null,
    },
  ]
}

/** Far enough to find the next instant of any schedule that has one. */
const HORIZON_MS = 10 * 366 * 86_400_000

/** The cause if the task was idle: the previous run had ended, and the next one was not due. */
function betweenRuns(it: ThenCase): Why {
  const { at, runs } = it
  const [latest] = runs
  const { items } = expectedBetween(it, { from: at + 1, to: at + HORIZON_MS, limit: 1 })
  const [next] = items
  const before = latest
    ? ` Run ${latest.runId} had ended ${roughly(at - (latest.endedAt ?? at))} earlier.`
    : ''
  const facts = latest ? { runId: latest.runId, runState: latest.state } : {}
  if (next)
    return {
      code: 'not_due',
      sentence: `The task was not due; the next occurrence was at ${instant(next.at)}.${before}`,
      facts: { ...facts, nextAt: next.at },
      advice: null,
    }
  const isByTime = it.versions.some(
    ({ definition }) => !['delay', 'manual'].includes(definition.schedule.type),
  )
  return {
    code: isByTime ? 'finished' : 'not_due',
    sentence: `The task had no further occurrences at that time.${before}`,
    facts,
    advice: null,
  }
}
