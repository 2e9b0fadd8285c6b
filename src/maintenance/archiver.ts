import type { Facilities } from '../operations/context.ts'
import { sweepProjects } from '../operations/projects/archive-project.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Logger } from '../telemetry/logger.ts'

const EVERY_MS = 1_000
/** While there is more to do, one slice follows another. */
const AGAIN_MS = 10

/** Silences the tasks of archived projects, and lets those of restored ones go on. Safe on every node at once. */
export class Archiver extends LoopService {
  readonly #facilities: Facilities

  constructor({ facilities, log }: { facilities: Facilities; log: Logger }) {
    super({ name: 'archiver', everyMs: EVERY_MS, log })
    this.#facilities = facilities
  }

  /** One slice; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<number | undefined> {
    return (await sweepProjects(this.#facilities)) ? AGAIN_MS : undefined
  }
}
