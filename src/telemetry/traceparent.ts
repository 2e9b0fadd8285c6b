const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/
const SPAN_DIGITS = 16
/** The number of the attempt replaces this many digits at the end of the run's id. */
const ATTEMPT_DIGITS = 4

/**
 * Returns the W3C trace context of an attempt: in the trace of the request that created the task, or in a trace of the run's
 * own. The span is derived from run and attempt, so that both ends compute the same one without communicating.
 */
export function traceparentFor(created: string | null, runId: string, attempt: number): string {
  const inherited = created === null ? null : TRACEPARENT.exec(created)
  const digits = digitsOf(runId)
  const span =
    digits.slice(-SPAN_DIGITS, -ATTEMPT_DIGITS) + attempt.toString(16).padStart(ATTEMPT_DIGITS, '0')
  return `00-${inherited?.[1] ?? digits}-${span}-${inherited?.[2] ?? '01'}`
}

/** A UUID without its dashes. */
const digitsOf = (id: string) =>
  id.slice(0, 8) + id.slice(9, 13) + id.slice(14, 18) + id.slice(19, 23) + id.slice(24)
