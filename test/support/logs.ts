/** Logs of attempts: as the API tells them, and in memory for tests of what does not store them. */
import type { LogEntry, LogLevel } from '../../src/core/run/log-entry.ts'
import type { Redactor } from '../../src/core/secret/redactor.ts'
import type { OpenAttemptLog, RunLogs } from '../../src/logs/run-log.ts'
import type { TestNode } from './node.ts'

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

  get redactor(): Redactor | null {
    return this.#redactor
  }

  room(): null {
    return null
  }

  async end(): Promise<void> {}
}

/** Logs in memory, for workers whose logs the test does not store. */
export const logsInMemory = (): Pick<RunLogs, 'open'> => ({ open: () => new KeptLog() })

/** A line as the API shows it. */
export interface ShownLine {
  readonly id: string
  readonly attempt: number
  readonly at: string
  readonly stream: string
  readonly level: string | null
  readonly text: string
  readonly isPartial: boolean
  readonly omitted: { readonly lines: number; readonly bytes: number } | null
}

/** The whole log of a run, page by page. */
export async function logOf(
  node: Pick<TestNode, 'request'>,
  runId: string,
  query: Record<string, string> = {},
): Promise<ShownLine[]> {
  const lines: ShownLine[] = []
  for (let after: string | null = ''; after !== null; ) {
    const asked = new URLSearchParams({ ...query, ...(after === '' ? {} : { after }) })
    const { status, body } = await node.request('GET', `/v1/runs/${runId}/log?${asked}`)
    if (status !== 200) throw new Error(`no log: ${JSON.stringify(body)}`)
    lines.push(...body.items)
    after = body.nextCursor
  }
  return lines
}
