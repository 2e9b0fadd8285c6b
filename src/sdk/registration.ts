/** Registers a worker with Belfry, which assigns it an id, a token and a lease. */
import type { Connection } from './connection.ts'
import { Lease, type LeaseOptions } from './lease.ts'
import { MAX_RUNS } from './runs-in-progress.ts'

/** A valid registration. */
export interface Registration {
  readonly id: string
  readonly token: string
  readonly lease: Lease
  /** Maximum size of the log of an attempt. Null if the server accepts logs only with the report, as release 0.1.0 does. */
  readonly maxLogBytes: number | null
}

/** How to register, and what to do about the lease that the worker receives. */
export interface RegistrationOptions extends Pick<LeaseOptions, 'ca' | 'onDoubt' | 'onCertain' | 'onBroken'> {
  readonly connection: Connection
  /** The API key. */
  readonly key: string | undefined
  /** Describes the worker. */
  readonly introduction: Record<string, unknown>
  readonly signal: AbortSignal
  onFailure(why: string): void
  onGone(token: string): void
}

/** What the server responds to a registration. */
interface Welcome {
  readonly workerId: string
  readonly token: string
  readonly heartbeatMs: number
  readonly leaseMs: number
  readonly maxLogBytes?: number
}

/** Registers the worker, and begins to send heartbeats. Waits for a server that is not available yet. */
export async function register(options: RegistrationOptions): Promise<Registration> {
  const { connection, key, introduction, signal, onFailure, ca, onDoubt, onCertain, onBroken } = options
  const welcome = await connection.insist('/v1/worker/register', introduction, {
    ...(key ? { token: key } : {}),
    signal,
    onFailure,
  })
  const { workerId: id, token, heartbeatMs, leaseMs, maxLogBytes = null } = welcome as Welcome
  const lease = new Lease({
    servers: connection.servers,
    ca,
    token,
    everyMs: heartbeatMs,
    leaseMs,
    maxRuns: MAX_RUNS,
    onDoubt,
    onCertain,
    onGone: () => options.onGone(token),
    onBroken,
  })
  return { id, token, lease, maxLogBytes }
}
