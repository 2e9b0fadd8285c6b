/** Lines that remote workers send about runs leased to them: redacted, and stored before they are confirmed. */
import type { Redactor } from '../core/secret/redactor.ts'
import type { LogWriter } from '../logs/log-writer.ts'
import type { RemoteLog } from '../transport/remote-workers.ts'
import { busy } from './awaited-outcomes.ts'
import { RemoteEntries } from './remote-lines.ts'

/** Where the lines of attempts are stored. */
export type LogStore = Pick<LogWriter, 'store' | 'isCrowded'>

export class RemoteLogs {
  readonly #logs: LogStore
  readonly #entries = new RemoteEntries()

  constructor(logs: LogStore) {
    this.#logs = logs
  }

  /** Stores the lines. Returns the runs whose lease was still valid; lines of the others are dropped. */
  async store(
    logs: readonly RemoteLog[],
    { redactors, isLast }: { redactors: ReadonlyMap<string, Redactor>; isLast: boolean },
  ): Promise<ReadonlySet<string>> {
    if (logs.length > 0 && this.#logs.isCrowded) throw busy()
    const stored = await Promise.all(
      logs.map(async (log) => {
        const { runId, fence, first } = log
        const entries = this.#entries.of(log, redactors.get(runId))
        return (await this.#logs.store({ runId, fence, first, entries, isLast })) ? runId : null
      }),
    )
    return new Set(stored.filter((runId) => runId !== null))
  }
}
