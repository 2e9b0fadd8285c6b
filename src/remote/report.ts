/** Converts a worker's report of an attempt into an outcome. Pure. */

import { isDeepStrictEqual } from 'node:util'
import { timedOut, UNSTORABLE_OUTCOME, WORKER_STOPPED } from '../core/run/attempt-errors.ts'
import type { AttemptError, Outcome } from '../core/run/outcome.ts'
import { keptText } from '../core/values/kept-text.ts'
import type { StoredAttempt } from '../store/nodes/remote-runs.ts'
import type { RemoteReport } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'

/** Maximum size of a handler's result, in characters of JSON; a larger one is left out, and the output says so. */
export const MAX_RESULT_CHARACTERS = 64 * 1024
/** Maximum size of an action's output. Workers limit it themselves; this applies to those that do not. */
const MAX_OUTPUT_CHARACTERS = 256 * 1024
const MAX_DETAIL_CHARACTERS = 8 * 1024
const MAX_MESSAGE_CHARACTERS = 4_096
const MAX_STACK_CHARACTERS = 8_192

export function outcomeOf(report: RemoteReport, work: Work): Outcome {
  switch (report.outcome) {
    case 'completed':
      return { kind: 'completed', output: outputOf(report, work) }
    case 'failed':
      return {
        kind: 'failed',
        error: errorOf(report),
        retryable: report.isRetryable,
        ...retryAfterOf(report, work),
        output: outputOf(report, work),
      }
    case 'timed_out':
      return { kind: 'timed_out', error: timedOut(work.definition.timeout), output: outputOf(report, work) }
    case 'cancelled':
      // Only a user can cancel: an attempt that a worker stops for reasons of its own has failed.
      return work.isCancelled
        ? { kind: 'cancelled', output: outputOf(report, work) }
        : { kind: 'failed', error: WORKER_STOPPED, retryable: true, output: outputOf(report, work) }
    case 'lost':
      return { kind: 'lease_lost' }
  }
}

/**
 * Whether the stored attempt is what a report says. A repeated report is confirmed; a report that contradicts an earlier one,
 * or Belfry's own decision about the attempt, is not.
 */
export function agrees(report: RemoteReport, { outcome, output, errorCode }: StoredAttempt): boolean {
  if (report.outcome === 'lost') return outcome === 'worker_lost'
  const isStop = report.outcome === 'cancelled' && errorCode === WORKER_STOPPED.code
  if (outcome !== report.outcome && !isStop) return false
  // An attempt whose output could not be stored leaves nothing to compare.
  if (errorCode === UNSTORABLE_OUTCOME) return true
  const stored = withoutLog(output)
  if ([ofHandler(report), ofAction(report)].some((told) => isDeepStrictEqual(asJson(told), stored)))
    return true
  // If secrets were redacted from the stored output, the rest cannot be compared.
  return JSON.stringify(output ?? null).includes(REDACTED)
}

const REDACTED = '[secret '

/** Release 0.1.0 stored a handler's log together with its result. */
function withoutLog(output: unknown): unknown {
  if (typeof output !== 'object' || output === null || !('log' in output)) return output
  const { log: _, logLinesOmitted: __, ...rest } = output as Record<string, unknown>
  return rest['result'] === null && !('resultOmitted' in rest) ? null : rest
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

function errorOf({ error }: RemoteReport): AttemptError {
  if (!error) return { code: 'handler_failed', message: 'The handler failed without a message.' }
  const message = cut(error.message, MAX_MESSAGE_CHARACTERS)
  const stack = error.stack === null ? {} : { stack: cut(error.stack, MAX_STACK_CHARACTERS) }
  const detail = { ...stack, ...keptDetail(error.detail) }
  return Object.keys(detail).length === 0
    ? { code: error.code, message }
    : { code: error.code, message, detail }
}

const keptDetail = (detail: Readonly<Record<string, unknown>> | null) =>
  detail !== null && JSON.stringify(detail).length <= MAX_DETAIL_CHARACTERS ? detail : {}

/** The delay requested by the called server, which only actions report; handlers set the time of their next attempt themselves. */
const retryAfterOf = ({ retryInMs }: RemoteReport, work: Work) =>
  isOfHandler(work) || retryInMs === null ? {} : { retryAfterMs: retryInMs }

export const isOfHandler = ({ definition: { action } }: Work): boolean => action.type === 'handler'

/** The stored output of an attempt. */
const outputOf = (report: RemoteReport, work: Work): unknown =>
  isOfHandler(work) ? ofHandler(report) : ofAction(report)

/** The output of an action is stored unchanged, as if a node had performed it. */
function ofAction({ result }: RemoteReport): unknown {
  const size = JSON.stringify(result ?? null).length
  return size <= MAX_OUTPUT_CHARACTERS
    ? (result ?? null)
    : {
        outputOmitted: `The output has ${size} characters as JSON; at most ${MAX_OUTPUT_CHARACTERS} are stored.`,
      }
}

/** The stored output of a handler; null if it returned nothing. */
function ofHandler({ result }: RemoteReport): unknown {
  if (result === undefined || result === null) return null
  const size = JSON.stringify(result).length
  if (size <= MAX_RESULT_CHARACTERS) return { result }
  const resultOmitted = `The output has ${size} characters as JSON; at most ${MAX_RESULT_CHARACTERS} are stored.`
  return { result: null, resultOmitted }
}

const cut = (text: string, limit: number) => (text.length <= limit ? text : `${keptText(text, limit - 1)}…`)
