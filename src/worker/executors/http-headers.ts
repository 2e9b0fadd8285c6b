/** The request headers that every call carries; core/reserved-headers.ts keeps users from setting them. */

import { utc } from '../../core/values/utc.ts'
import type { Signer } from '../../outgoing/signer.ts'
import type { AttemptContext } from '../executor.ts'

/** Sender, time and content of a request. */
export interface Sending {
  readonly userAgent: string
  readonly now: number
  readonly body: string | undefined
  readonly signer: Signer
  /** The origin that it is sent to. */
  readonly origin: string
}

/** Returns names and values alternately, as undici expects them. `webhook-id` is the run's id, so receivers can deduplicate. */
export function attemptHeaders(context: AttemptContext, sending: Sending): string[] {
  const { userAgent, now, body, signer, origin } = sending
  const id = context.runId
  const timestamp = String(Math.floor(now / 1000))
  const headers = [
    'user-agent',
    userAgent,
    'accept-encoding',
    'identity',
    'webhook-id',
    id,
    'webhook-timestamp',
    timestamp,
    'belfry-task-id',
    context.taskId,
    'belfry-scheduled-for',
    utc(context.scheduledFor),
    'belfry-attempt',
    String(context.attempt),
    'belfry-fence',
    String(context.fence),
    'traceparent',
    context.traceparent,
  ]
  if (context.tracingId !== null) headers.push('belfry-tracing-id', context.tracingId)
  const signature = signer.sign({ projectId: context.projectId, origin }, { id, timestamp, body: body ?? '' })
  if (signature !== undefined) headers.push('webhook-signature', signature)
  return headers
}
