/** What an attempt's outcome means for its run. Pure: time and chance are arguments. */
import type { Outcome } from '../core/outcome.ts'
import { mayRetry, retryDelay } from '../core/retry-policy.ts'
import { retryPolicyOf } from '../core/task.ts'
import type { Ending, Retry } from '../store/outcomes.ts'
import type { Work } from '../transport/transport.ts'

/** An attempt that is over, and what it was about. */
export interface EndedAttempt {
  readonly work: Work
  readonly outcome: Outcome
  readonly startedAt: number
  readonly endedAt: number
}

export type Verdict =
  | { readonly kind: 'end'; readonly ending: Ending }
  | { readonly kind: 'retry'; readonly retry: Retry }
  /** The run is no longer this worker's; there is nothing to say about it. */
  | { readonly kind: 'nothing' }

export function judge(attempt: EndedAttempt, random: () => number, newId: () => string): Verdict {
  const { work, outcome, startedAt, endedAt } = attempt
  const heirId = work.definition.schedule.type === 'delay' ? newId() : null
  const base = { runId: work.runId, fence: work.fence, startedAt, endedAt, heirId }
  switch (outcome.kind) {
    case 'completed':
      return {
        kind: 'end',
        ending: { ...base, state: 'completed', outcome: 'completed', output: outcome.output, error: null },
      }
    case 'cancelled':
      return {
        kind: 'end',
        ending: { ...base, state: 'cancelled', outcome: 'cancelled', output: null, error: null },
      }
    case 'lease_lost':
      return { kind: 'nothing' }
    case 'failed':
    case 'timed_out':
      return judgeFailure(attempt, outcome, random, base)
  }
}

function judgeFailure(
  { work, startedAt, endedAt }: EndedAttempt,
  outcome: Extract<Outcome, { kind: 'failed' | 'timed_out' }>,
  random: () => number,
  base: Pick<Ending, 'runId' | 'fence' | 'startedAt' | 'endedAt' | 'heirId'>,
): Verdict {
  const policy = retryPolicyOf(work.definition)
  const failures = work.attempt - work.losses
  const output = outcome.kind === 'failed' ? outcome.output : null
  const isRetryable = outcome.kind === 'timed_out' || outcome.retryable
  if (!isRetryable || !mayRetry(policy, failures)) {
    return {
      kind: 'end',
      ending: { ...base, state: 'permanently_failed', outcome: outcome.kind, output, error: outcome.error },
    }
  }
  const delay = retryDelay(
    policy,
    failures,
    random,
    outcome.kind === 'failed' ? outcome.retryAfterMs : undefined,
  )
  const { runId, fence } = work
  return {
    kind: 'retry',
    retry: {
      runId,
      fence,
      outcome: outcome.kind,
      startedAt,
      endedAt,
      retryAt: Math.ceil(endedAt + delay),
      output,
      error: outcome.error,
    },
  }
}
