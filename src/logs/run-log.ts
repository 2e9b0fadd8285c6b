/** Where attempts write their output and messages while they run. Readers find them in the database moments later. */
import type { LogEntry, LogLevel } from '../core/run/log-entry.ts'
import type { Redactor } from '../core/secret/redactor.ts'

/** An attempt, identified by the fence of its lease. */
export interface LoggedAttempt {
  readonly runId: string
  readonly fence: number
}

/**
 * The log of one attempt of this node. No method blocks or throws: output beyond the limit of the attempt, or beyond what this
 * node can keep in memory, is counted and omitted, and the log says so.
 */
export interface AttemptLog {
  /** Accepts what a program wrote, as it arrives: a chunk may end anywhere, even within a character or a secret. */
  write(stream: 'stdout' | 'stderr', chunk: Buffer): void
  /** Accepts a message of one or more lines. */
  say(level: LogLevel, message: string): void
  /** Sets the redactor that removes secret values from everything written from now on. */
  redactWith(redactor: Redactor): void
  /** The current redactor; null if there is nothing to redact. */
  readonly redactor: Redactor | null
  /**
   * Resolves when more output can be accepted; null if it can be at once. The reader of a program's output waits for this
   * before it reads on, so that a program that writes faster than the database stores is slowed down.
   */
  room(): Promise<void> | null
}

/** An attempt log as seen by the code that runs the attempt. */
export interface OpenAttemptLog extends AttemptLog {
  /** Ends the log. Resolves when everything is stored, or cannot be stored in time. */
  end(): Promise<void>
}

/** Lines of a remote worker. */
export interface RemoteLines extends LoggedAttempt {
  /** Number of lines of the attempt before these, so that lines sent twice are stored once. */
  readonly first: number
  readonly entries: readonly LogEntry[]
  /** Whether the end of the attempt waits for these lines. */
  readonly isLast?: boolean
}

/** The logs of all attempts that a node handles. */
export interface RunLogs {
  /** Opens the log of an attempt that this node performs. */
  open(attempt: LoggedAttempt): OpenAttemptLog
  /** Stores lines of an attempt that a remote worker performs; false if the run is no longer leased to the worker. */
  store(lines: RemoteLines): Promise<boolean>
}
