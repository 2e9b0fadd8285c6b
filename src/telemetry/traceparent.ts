const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/
const SPAN_DIGITS = 16
/** Where the attempt goes in the span: the last four of the random digits of a run's id. */
const ATTEMPT_DIGITS = 4

/**
 * The W3C trace context of one attempt: in the trace that the task was created in, or in one of the run's
 * own. The span follows from run and attempt, so that both ends name the same one without talking.
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
