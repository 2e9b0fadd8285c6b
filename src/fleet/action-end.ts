import type { Outcome } from '../core/run/outcome.ts'
import { ActionEnd } from '../sdk/attempt.ts'

/** Converts an executor's outcome to the end that the worker reports. */
export function endOf(outcome: Outcome): ActionEnd {
  switch (outcome.kind) {
    case 'completed':
      return new ActionEnd({ outcome: 'completed', result: outcome.output })
    case 'failed': {
      const { error, retryable, retryAfterMs, output } = outcome
      return new ActionEnd({
        outcome: 'failed',
        error,
        retryable,
        ...(retryAfterMs === undefined ? {} : { retryInMs: retryAfterMs }),
        ...(output === undefined ? {} : { result: output }),
      })
    }
    case 'timed_out':
    case 'cancelled':
      return new ActionEnd({
        outcome: outcome.kind,
        ...('output' in outcome ? { result: outcome.output } : {}),
      })
    case 'lease_lost':
      return new ActionEnd({ outcome: 'lost' })
  }
}
