import { createHash } from 'node:crypto'

const TRACEPARENT = /^00-([0-9a-f]{32})-[0-9a-f]{16}-([0-9a-f]{2})$/

/**
 * The W3C trace context of one attempt: in the trace that the task was created in, or in one of the run's
 * own. The span is derived from run and attempt, so that both ends name the same one without talking.
 */
export function traceparentFor(created: string | null, runId: string, attempt: number): string {
  const inherited = created === null ? null : TRACEPARENT.exec(created)
  const traceId = inherited?.[1] ?? runId.replaceAll('-', '')
  const spanId = createHash('sha256').update(`${runId}/${attempt}`).digest('hex').slice(0, 16)
  return `00-${traceId}-${spanId}-${inherited?.[2] ?? '01'}`
}
