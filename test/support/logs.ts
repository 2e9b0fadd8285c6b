/** Logs of attempts that stay in memory, for tests of what does not store them. */
import type { LogEntry, LogLevel } from '../../src/core/run/log-entry.ts'
import type { Redactor } from '../../src/core/secret/redactor.ts'
import type { OpenAttemptLog, RunLogs } from '../../src/logs/run-log.ts'

/** The log of one attempt, and what was written to it. */
export class KeptLog implements OpenAttemptLog {
  readonly entries: Omit<LogEntry, 'at'>[] = []
  #redactor: Redactor | null = null

  write(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.entries.push({ stream, level: null, text: chunk.toString() })
  }

  say(level: LogLevel, message: string): void {
    this.entries.push({ stream: 'log', level, text: `${this.#redactor?.text(message) ?? message}\n` })
  }

  redactWith(redactor: Redactor): void {
    this.#redactor = redactor
  }

  room(): null {
    return null
  }

  async end(): Promise<void> {}
}

/** For workers whose attempts have nothing to say. */
export const logsInMemory = (): Pick<RunLogs, 'open'> => ({ open: () => new KeptLog() })
