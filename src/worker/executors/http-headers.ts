/** The request headers that are ours: what every call carries, and what users therefore may not set. */
import type { AttemptContext } from '../executor.ts'

/** Set by the client or by the connection, so a value of the user's would break one or the other. */
const FORBIDDEN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'traceparent',
  'tracestate',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
])
const FORBIDDEN_PREFIXES = ['webhook-', 'belfry-']

/** Whether users may not set this header on an action, in any capitalisation. */
export function forbiddenHeader(name: string): boolean {
  const lower = name.toLowerCase()
  return FORBIDDEN_HEADERS.has(lower) || FORBIDDEN_PREFIXES.some((prefix) => lower.startsWith(prefix))
}

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
