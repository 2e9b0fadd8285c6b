import type { Facilities } from '../operations/context.ts'
import { endForgottenWaits, forgottenWaits } from '../operations/tasks/file-waits.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { SetAside } from '../store/database/set-aside.ts'
import type { EndedWait } from '../store/tasks/file-waits.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface FileWaitsOptions {
  readonly facilities: Facilities
  readonly log: Logger
}

const EVERY_MS = 2_000

/** Resumes tasks that wait for files which have been uploaded. Usually the upload has resumed them already. */
export class FileWaits extends LoopService {
  readonly #facilities: Facilities
  readonly #aside: SetAside<EndedWait>

  constructor({ facilities, log }: FileWaitsOptions) {
    super({ name: 'file waits', everyMs: EVERY_MS, log })
    this.#facilities = facilities
    const subjectOf = ({ id }: EndedWait) => ({ id, taskId: id })
    this.#aside = new SetAside({ operation: 'duty', db: facilities.db, log, subjectOf })
  }

  /** Makes one pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<undefined> {
    const waits = await forgottenWaits(this.#facilities.db, this.#aside.restingIds)
    if (waits.length > 0) await this.#aside.each(waits, (some) => endForgottenWaits(this.#facilities, some))
  }
}
