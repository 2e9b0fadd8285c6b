/**
 * Workers of the users' own, as an api node sees them: they ask over HTTP, hold no connection to the database,
 * and may ask a different node each time. Whatever is decided about them stands in the tables, so that every
 * node gives the same answer; what one of them keeps in memory is only who waits for work.
 */
import type { Action } from '../core/action/action.ts'

import type { LogLevel, LogStream } from '../core/run/log-entry.ts'

/** Who asks, and for what it may be given runs. */
export interface RemoteWorker {
  readonly id: string
  /** As lists show it. */
  readonly name: string
  readonly projectId: string
  readonly handlers: readonly string[]
  /** Its own, and those that stand for the actions that it performs (core/run/own-labels.ts). */
  readonly labels: readonly string[]
  /** The queues that it keeps to; null for all of them. */
  readonly queues: readonly string[] | null
  /** The key that it registered with; null: the server was open. */
  readonly keyId: string | null
}

/** A worker introduces itself. */
export interface Introduction extends Omit<RemoteWorker, 'id'> {
  readonly version: string
  readonly concurrency: number
  /** Where it asks from. */
  readonly address: string
}

/** What a worker is told when it has introduced itself. */
export interface Welcome {
  readonly workerId: string
  /** Proves who asks from now on. It is told once and stored as a hash. */
  readonly token: string
  /** How often the worker has to show that it lives. */
  readonly heartbeatMs: number
  /** After a silence of this length it is dead and its runs are given to others. */
  readonly leaseMs: number
  /** What is kept of the log of an attempt. */
  readonly maxLogBytes: number
}

/** A worker asks for runs. */
export interface RemoteClaim {
  /** The same for a repetition of the same request: it is answered with the same runs. */
  readonly requestId: string
  readonly limit: number
  /** For how long it waits when there is nothing. */
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
  /** What is to be done, when it is not a handler. */
  readonly given: GivenAction | null
}

/** An action with what its worker needs to perform it, for this one attempt. */
export interface GivenAction {
  /** With the values of its secrets. */
  readonly action: Action
  /** Of a program. */
  readonly program: GivenProgram | null
  /** Of everything else. */
  readonly call: GivenCall | null
}

/** What running a program needs. */
export interface GivenProgram {
  /** The uploaded files that the action names. `url` is a path of this server, and signed. */
  readonly files: readonly {
    readonly id: string
    readonly name: string
    readonly sha256: string
    readonly size: number
    /** What its first bytes show. */
    readonly kind: string | null
    readonly architecture: string | null
    readonly url: string
  }[]
  /** Good for this attempt alone. */
  readonly attemptToken: string
  readonly hostId: string
}

/** What making a call needs. */
export interface GivenCall {
  /** The database's time, epoch milliseconds: what is signed carries it. */
  readonly now: number
  /** The value of `webhook-signature`; null where the project signs nothing. */
  readonly signature: string | null
  /** The private networks that the project confines its calls to; null for no such limit. */
  readonly networks: readonly string[] | null
  /** Whether the action contains the values of secrets, which no redirect may carry elsewhere. */
  readonly hasSecrets: boolean
}

/** A run and the fence by which it is held. */
export interface RemoteHeld {
  readonly runId: string
  readonly fence: number
}

/** A run in a worker's hands, and how far it says it is. */
export interface RemoteStatus extends RemoteHeld {
  readonly progress: { readonly fraction: number | null; readonly message: string | null } | null
}

/** What a worker learns about the runs that it named. */
export interface Standings {
  /** A user asked that these be stopped. */
  readonly cancelled: readonly string[]
  /** These are no longer the worker's: nothing that it reports about them will count. */
  readonly lost: readonly string[]
}

/** A line that a handler wrote, or a piece of what a program wrote. */
export interface RemoteLine {
  /** RFC 3339, as the worker's clock says. */
  readonly at: string
  readonly stream: LogStream
  readonly level: LogLevel | null
  readonly message: string
}

/** Some lines of the log of an attempt. */
export interface RemoteLog extends RemoteHeld {
  /** How many lines of the attempt came before these. */
  readonly first: number
  readonly lines: readonly RemoteLine[]
}

/** How an attempt ended, as its worker says. */
export interface RemoteReport extends RemoteHeld {
  readonly outcome: 'completed' | 'failed' | 'timed_out' | 'cancelled' | 'lost'
  readonly result: unknown
  readonly error: {
    readonly code: string
    readonly message: string
    readonly stack: string | null
    readonly detail: Readonly<Record<string, unknown>> | null
  } | null
  readonly isRetryable: boolean
  /** Not before this instant, or this long after the report, shall it be tried again; without both it is left to the task. */
  readonly retryAt: number | null
  readonly retryInMs: number | null
  /** The rest of the log; how many lines of it were sent before. */
  readonly log: readonly RemoteLine[]
  readonly logFirst: number
}

/** Whether a report counted. */
export interface Receipt extends RemoteHeld {
  /** False: the run was no longer the worker's, and what it did counts for nothing. */
  readonly isRecorded: boolean
  /** The database refuses the outcome. It is tried again, but only the worker still has it if this node dies. */
  readonly isPending: boolean
}

/** What api nodes do for workers of the users' own. */
export interface RemoteWorkers {
  register(introduction: Introduction): Promise<Welcome>
  /** The worker that a token was given to; refuses one that nobody was given. */
  authenticate(token: string | null): Promise<RemoteWorker>
  /** The worker with an id that a token of an attempt names; refuses one that is not known any more. */
  find(id: string): Promise<RemoteWorker>
  /** Waits for runs until there are some, `signal` fires, or the time is up. */
  claim(worker: RemoteWorker, claim: RemoteClaim, signal: AbortSignal): Promise<readonly RemoteRun[]>
  /** Records a heartbeat of the worker. `runs`: the runs that it performs; null if it does not name them. */
  heartbeat(worker: RemoteWorker, runs: readonly RemoteStatus[] | null): Promise<Standings>
  /** Takes in that other commands of the worker's machine can be run from now on. */
  offer(worker: RemoteWorker, commands: readonly string[]): Promise<void>
  /** Takes in what attempts have written so far; answers the runs that are no longer the worker's. */
  log(worker: RemoteWorker, logs: readonly RemoteLog[]): Promise<readonly string[]>
  complete(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<readonly Receipt[]>
  /** Takes back runs that were not begun. */
  giveBack(worker: RemoteWorker, runs: readonly RemoteHeld[]): Promise<void>
  /** The worker's last word: it holds nothing any more. */
  leave(worker: RemoteWorker): Promise<void>
  /** Answers everybody who waits, with nothing: this node stops. */
  dismissAll(): void
}
