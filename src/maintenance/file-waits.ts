import type { Facilities } from '../operations/context.ts'
import { endForgottenWaits } from '../operations/tasks/file-waits.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface FileWaitsOptions {
  readonly facilities: Facilities
  readonly log: Logger
}

const EVERY_MS = 2_000

/** Resumes tasks that wait for files which have been uploaded. Usually the upload has resumed them already. */
export class FileWaits extends LoopService {
  readonly #facilities: Facilities

  constructor({ facilities, log }: FileWaitsOptions) {
    super({ name: 'file waits', everyMs: EVERY_MS, log })
    this.#facilities = facilities
  }

  /** Makes one pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<undefined> {
    await endForgottenWaits(this.#facilities)
  }
}
