/** Determines what an attempt's outcome means for its run. Pure: time and randomness are arguments. */

import { mayRetry, retryDelay } from '../core/policy/retry-policy.ts'
import { failedAttempts } from '../core/policy/worker-loss.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { durationMs, retryPolicyOf } from '../core/task/task.ts'
import type { Ending } from '../store/agenda/outcomes.ts'
import type { Retry } from '../store/agenda/retries.ts'
import type { Work } from '../transport/transport.ts'

/** An attempt that has ended, with its run. */
export interface EndedAttempt {
  readonly work: Work
  readonly outcome: Outcome
  /** Null if it was stopped before it began. */
  readonly startedAt: number | null
  readonly endedAt: number
}

/** What the end of an attempt means for its run. */
export type Judgement =
  | {
      readonly kind: 'end'
      readonly ending: Ending
      /** Whether something waits for this end: the next row of a chain, a slot behind a gate, or an occurrence that comes soon. */
      readonly isAwaited: boolean
    }
  | { readonly kind: 'retry'; readonly retry: Retry }
  /** The run is no longer leased to this worker; nothing is written. */
  | { readonly kind: 'nothing' }

export function judge(attempt: EndedAttempt, random: () => number, newId: () => string): Judgement {
  const { outcome } = attempt
  switch (outcome.kind) {
    case 'completed':
      return end(attempt, newId, 'completed', outcome.output, null)
    case 'cancelled':
      return end(attempt, newId, 'cancelled', outcome.output ?? null, null)
    case 'lease_lost':
      return { kind: 'nothing' }
    case 'failed':
    case 'timed_out':
      return judgeFailure(attempt, outcome, random, newId)
  }
}

type Failure = Extract<Outcome, { kind: 'failed' | 'timed_out' }>

function judgeFailure(
  attempt: EndedAttempt,
  outcome: Failure,
  random: () => number,
  newId: () => string,
): Judgement {
  const { work, startedAt, endedAt } = attempt
  const policy = retryPolicyOf(work.definition)
  const failures = failedAttempts({ ...work, onWorkerLoss: work.definition.onWorkerLoss })
  const output = outcome.output ?? null
  const isRetryable = outcome.kind === 'timed_out' || outcome.retryable
  if (!isRetryable || !mayRetry(policy, failures)) {
    return end(attempt, newId, 'permanently_failed', output, outcome.error)
  }
  const delay = retryDelay(
    policy,
    failures,
    random,
    outcome.kind === 'failed' ? outcome.retryAfterMs : undefined,
  )
  const { runId, fence } = work
  const { kind, error } = outcome
  const retryAt = Math.ceil(endedAt + delay)
  return { kind: 'retry', retry: { runId, fence, outcome: kind, startedAt, endedAt, retryAt, output, error } }
}

function end(
  { work, outcome, startedAt, endedAt }: EndedAttempt,
  newId: () => string,
  state: Ending['state'],
  output: unknown,
  error: unknown,
): Judgement {
  const ending = {
    runId: work.runId,
    fence: work.fence,
    state,
    outcome: outcome.kind as Ending['outcome'],
    startedAt,
    endedAt,
    output,
    error,
    nextRunId: work.definition.schedule.type === 'delay' ? newId() : null,
  }
  const isAwaited = ending.nextRunId !== null || work.holdsPlace === true || recursSoon(work)
  return { kind: 'end', ending, isAwaited }
}

/**
 * If a task's next occurrence comes within this time, the end of its run is written at once, so that the run does not appear
 * unfinished.
 */
const SOON_MS = 1_000

function recursSoon({ definition: { schedule } }: Work): boolean {
  return schedule.type === 'every' && durationMs(schedule.interval) < SOON_MS
}
