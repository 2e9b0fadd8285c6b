/** What attempts write while they are under way: output of programs, and lines of handlers. */

export const LOG_STREAMS = ['stdout', 'stderr', 'log'] as const
/** Where it was written: one of a program's two outputs, or the log of a handler and of Belfry itself. */
export type LogStream = (typeof LOG_STREAMS)[number]

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A piece of the log of an attempt. */
export interface LogEntry {
  /** Epoch milliseconds. */
  readonly at: number
  readonly stream: LogStream
  /** How serious a line of a handler is; null for what a program wrote. */
  readonly level: LogLevel | null
  /** One line or several. A line that has ended ends in a line feed; one that has not goes on in the next entry of its stream. */
  readonly text: string
}
