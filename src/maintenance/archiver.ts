import type { Facilities } from '../operations/context.ts'
import { sweepProjects } from '../operations/projects/archive-project.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 1_000
/** While there is more to do, the next slice follows after this time. */
const AGAIN_MS = 10

/** Stops the tasks of archived projects, and resumes those of restored ones. Safe to run on every node at once. */
export class Archiver extends LoopService {
  readonly #facilities: Facilities
  readonly #log: Logger

  constructor({ facilities, log }: { facilities: Facilities; log: Logger }) {
    super({ name: 'archiver', everyMs: EVERY_MS, log })
    this.#facilities = facilities
    this.#log = log
  }

  /** Handles one slice; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<number | undefined> {
    const { hasMore, left } = await sweepProjects(this.#facilities)
    for (const { taskId, error } of left)
      this.#log.warn(
        { err: error, taskId },
        'a task of an archived or restored project cannot be changed; retrying',
      )
    return hasMore ? AGAIN_MS : undefined
  }
}
