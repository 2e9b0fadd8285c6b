/**
 * Remote workers as an api node sees them. They communicate over HTTP, have no connection to the database, and may call a
 * different node each time. All decisions about them are stored in the tables, so every node gives the same response; a node
 * keeps only the waiting claims in memory.
 */
import type { Action } from '../core/action/action.ts'
import type { LogLevel, LogStream } from '../core/run/log-entry.ts'
import type { RemoteWorker } from '../store/nodes/remote-workers.ts'

export type { RemoteWorker }

/** A worker's registration. */
export interface Introduction extends Omit<RemoteWorker, 'id'> {
  readonly version: string
  readonly concurrency: number
  /** The address that it calls from. */
  readonly address: string
}

/** The response to a registration. */
export interface Welcome {
  readonly workerId: string
  /** Authenticates the worker from now on. It is returned once and stored as a hash. */
  readonly token: string
  /** How often the worker must send a heartbeat. */
  readonly heartbeatMs: number
  /** A worker that is silent for this long is dead, and its runs are given to others. */
  readonly leaseMs: number
  /** Maximum number of bytes kept of the log of an attempt. */
  readonly maxLogBytes: number
}

/** A worker's request for runs. */
export interface RemoteClaim {
  /** Identical in a repetition of the same request, which gets the same runs. */
  readonly requestId: string
  readonly limit: number
  /** How long to wait if there are no runs. */
  readonly waitMs: number
}

/** A run that was given to a worker. */
export interface RemoteRun {
  readonly runId: string
  readonly taskId: string
  readonly handler: string
  readonly payload: unknown
  readonly scheduledFor: number
  readonly attempt: number
  readonly fence: number
  readonly timeoutMs: number
  readonly traceparent: string
  readonly tracingId: string | null
  /** The action, if the run is not that of a handler. */
  readonly given: GivenAction | null
}

/** An action with what its worker needs to perform it, for this one attempt. */
export interface GivenAction {
  /** The action with the values of its secrets. */
  readonly action: Action
  /** Set for a program only. */
  readonly program: GivenProgram | null
  /** Set for every other action. */
  readonly call: GivenCall | null
}

/** What running a program needs. */
export interface GivenProgram {
  /** The uploaded files that the action names. `url` is a signed path of this server. */
  readonly files: readonly {
    readonly id: string
    readonly name: string
    readonly sha256: string
    readonly size: number
    /** The kind detected from its first bytes. */
    readonly kind: string | null
    readonly architecture: string | null
    readonly url: string
  }[]
  /** Valid for this attempt only. */
  readonly attemptToken: string
  readonly hostId: string
}

/** What making a call needs. */
export interface GivenCall {
  /** The database's time, epoch milliseconds: signatures contain it. */
  readonly now: number
  /** The value of `webhook-signature`; null if the project does not sign. */
  readonly signature: string | null
  /** The private networks that the project restricts its calls to; null if it does not. */
  readonly networks: readonly string[] | null
  /** Whether the action contains the values of secrets, which a redirect must not carry to another origin. */
  readonly hasSecrets: boolean
}

/** A run and the fence of its lease. */
export interface RemoteLease {
  readonly runId: string
  readonly fence: number
}

/** A run that a worker performs, with the progress it reports. */
export interface RemoteStatus extends RemoteLease {
  readonly progress: { readonly fraction: number | null; readonly message: string | null } | null
}

/** What the response tells a worker about the runs that it named. */
export interface Standings {
  /** Runs that a user asked to stop. */
  readonly cancelled: readonly string[]
  /** Runs no longer leased to the worker: its reports about them are ignored. */
  readonly lost: readonly string[]
}

/** A line that a handler wrote, or a piece of a program's output. */
export interface RemoteLine {
  /** RFC 3339, as the worker's clock says. */
  readonly at: string
  readonly stream: LogStream
  readonly level: LogLevel | null
  readonly message: string
}

/** Some lines of the log of an attempt. */
export interface RemoteLog extends RemoteLease {
  /** How many lines of the attempt came before these. */
  readonly first: number
  readonly lines: readonly RemoteLine[]
}

/** How an attempt ended, as its worker says. */
export interface RemoteReport extends RemoteLease {
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'cancelled' | 'lost'
  readonly result: unknown
  readonly error: {
    readonly code: string
    readonly message: string
    readonly stack: string | null
    readonly detail: Readonly<Record<string, unknown>> | null
  } | null
  readonly isRetryable: boolean
  /** The run is not retried before this instant, or until this long after the report; if both are null, the task decides. */
  readonly retryAt: number | null
  readonly retryInMs: number | null
  /** The rest of the log, and how many of the attempt's lines were sent before. */
  readonly log: readonly RemoteLine[]
  readonly logFirst: number
}

/** Whether a report was recorded. */
export interface Receipt extends RemoteLease {
  /** False if the run was no longer leased to the worker, so that the report was ignored. */
  readonly isRecorded: boolean
  /** The database refuses the outcome. It is retried, but if this node dies only the worker still has it. */
  readonly isPending: boolean
}

/** What api nodes do for remote workers. */
export interface RemoteWorkers {
  register(introduction: Introduction): Promise<Welcome>
  /** Returns the worker that a token was issued to; rejects an unknown token. */
  authenticate(token: string | null): Promise<RemoteWorker>
  /** Returns the worker with the id in an attempt's token; rejects one that is no longer known. */
  find(id: string): Promise<RemoteWorker>
  /** Waits for runs until there are some, `signal` fires, or the time is up. */
  claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly RemoteRun[]>
  /** Records a heartbeat of the worker. `runs`: the runs that it performs; null if it does not name them. */
  heartbeat(worker: RemoteWorker, runs: readonly RemoteStatus[] | null): Promise<Standings>
  /** Records that the worker's machine offers other commands from now on. */
  offer(worker: RemoteWorker, commands: readonly string[]): Promise<void>
  /** Stores what attempts have written so far; returns the runs no longer leased to the worker. */
  log(worker: RemoteWorker, logs: readonly RemoteLog[]): Promise<readonly string[]>
  complete(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<readonly Receipt[]>
  /** Takes back runs that were not begun. */
  giveBack(worker: RemoteWorker, runs: readonly RemoteLease[]): Promise<void>
  /** Deregisters the worker: it leases no runs any more. */
  leave(worker: RemoteWorker): Promise<void>
  /** Answers every waiting claim with no runs, because this node is stopping. */
  dismissAll(): void
}
