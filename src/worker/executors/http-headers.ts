/** The request headers that every call carries; core/reserved-headers.ts keeps users from setting them. */
import type { AttemptContext } from '../executor.ts'

/** Names and values in turn, as undici takes them. `webhook-id` is the run's, so receivers can de-duplicate. */
export function attemptHeaders(
  context: AttemptContext,
  { userAgent, now }: { userAgent: string; now: number },
): string[] {
  return [
    'user-agent',
    userAgent,
    'accept-encoding',
    'identity',
    'webhook-id',
    context.runId,
    'webhook-timestamp',
    String(Math.floor(now / 1000)),
    'belfry-task-id',
    context.taskId,
    'belfry-scheduled-for',
    new Date(context.scheduledFor).toISOString(),
    'belfry-attempt',
    String(context.attempt),
    'belfry-fence',
    String(context.fence),
    'traceparent',
    context.traceparent,
  ]
}
