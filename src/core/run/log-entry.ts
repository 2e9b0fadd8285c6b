/** What attempts write while they run: output of programs, and log lines of handlers. */

export const LOG_STREAMS = ['stdout', 'stderr', 'log'] as const
/** Where the text was written: to stdout or stderr of a program, or to the log of a handler or of Belfry itself. */
export type LogStream = (typeof LOG_STREAMS)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A piece of the log of an attempt. */
export interface LogEntry {
  /** Epoch milliseconds. */
  readonly at: number
  readonly stream: LogStream
  /** The level of a handler's log line; null for output of a program. */
  readonly level: LogLevel | null
  /** One or more lines. A complete line ends in a line feed; an incomplete one continues in the next entry of its stream. */
  readonly text: string
}
