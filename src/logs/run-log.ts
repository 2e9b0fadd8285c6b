/** Where attempts write what they have to say while they are under way. Whoever reads it finds it in the database, moments later. */
import type { LogEntry, LogLevel } from '../core/run/log-entry.ts'
import type { Redactor } from '../core/secret/redactor.ts'

/** An attempt, by the fence that it holds its run by. */
export interface LoggedAttempt {
  readonly runId: string
  readonly fence: number
}

/**
 * The log of one attempt of this node. Nothing here waits or throws: what is beyond the limit of an attempt, or more than this node can
 * keep in memory, is counted and left out, and the log says so.
 */
export interface AttemptLog {
  /** Takes what a program wrote, as it comes: a chunk may end anywhere, also inside of a character or a secret. */
  write(stream: 'stdout' | 'stderr', chunk: Buffer): void
  /** Takes a message, which is a line or several. */
  say(level: LogLevel, message: string): void
  /** Values to take out of everything from now on. */
  redactWith(redactor: Redactor): void
  /** What takes them out; null where there is nothing to take out. */
  readonly redactor: Redactor | null
  /**
   * Resolves when more can be taken in; null: it can at once. Whoever reads from a program waits for this before reading on, so that a
   * program that writes faster than the database takes it is slowed down.
   */
  room(): Promise<void> | null
}

/** An attempt log in the hands of whoever runs the attempt. */
export interface OpenAttemptLog extends AttemptLog {
  /** Nothing more will be written. Resolves when everything is stored, or cannot be stored in time. */
  end(): Promise<void>
}

/** Lines of a remote worker. */
export interface RemoteLines extends LoggedAttempt {
  /** How many lines of the attempt were before these: what is sent twice is stored once. */
  readonly first: number
  readonly entries: readonly LogEntry[]
  /** The end of the attempt waits for these. */
  readonly isLast?: boolean
}

/** The logs of all attempts that a node hears of. */
export interface RunLogs {
  /** Begins the log of an attempt that this node performs. */
  open(attempt: LoggedAttempt): OpenAttemptLog
  /** Stores lines of an attempt that a remote worker performs; false when the worker no longer holds the run. */
  store(lines: RemoteLines): Promise<boolean>
}
