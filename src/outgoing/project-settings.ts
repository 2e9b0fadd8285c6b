import { smtpTargetOf } from '../core/action/call-target.ts'
import { parseMailServer } from '../core/action/mail-settings.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { type OutgoingSettings, outgoingSettings } from '../store/projects/projects.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Confinement, confinementOf, type ProjectNetworks, SettingsUnread } from './project-networks.ts'

/** Polling interval: every node applies a change within this time. */
const EVERY_MS = 5_000

/**
 * Keeps the projects' settings for their calls: the networks these may reach, and the mail server. `start` resolves after the
 * first read. The first call of a project waits for another read, because the project may be newer than the last one: it is
 * never called without the restrictions that it was created with.
 */
export class ProjectSettings extends LoopService implements ProjectNetworks {
  readonly #db: Queryable
  #confined: ReadonlyMap<string, Confinement> = new Map()
  #mailTargets: ReadonlyMap<string, string> = new Map()
  /** Projects that existed when the settings were read; those that are not in `#confined` have no restrictions. */
  readonly #known = new Set<string>()
  #reading: Promise<void> | undefined
  #nextReading: Promise<void> | undefined

  constructor({ db, log }: { readonly db: Queryable; readonly log: Logger }) {
    super({ name: 'project settings', everyMs: EVERY_MS, log })
    this.#db = db
  }

  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  /** Rereads the projects; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    await this.#readAgain()
  }

  of(projectId: string): Confinement | undefined | Promise<Confinement | undefined> {
    return this.#known.has(projectId) ? this.#confined.get(projectId) : this.#ofUnknown(projectId)
  }

  async #ofUnknown(projectId: string): Promise<Confinement | undefined> {
    try {
      await this.#readAgain()
    } catch (cause) {
      throw new SettingsUnread(cause)
    }
    this.#known.add(projectId)
    return this.#confined.get(projectId)
  }

  /**
   * Resolves after a read that began later than this call. There is only one at a time, so that an older one never replaces a
   * newer one; whoever asks meanwhile shares the next.
   */
  #readAgain(): Promise<void> {
    if (this.#reading) {
      this.#nextReading ??= this.#reading
        .catch(() => {})
        .then(() => {
          this.#nextReading = undefined
          return this.#readAgain()
        })
      return this.#nextReading
    }
    this.#reading = this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #read(): Promise<void> {
    const rows = await this.#db.run(outgoingSettings())
    this.#confined = new Map(
      rows.flatMap(({ id, allowedPrivate }) =>
        allowedPrivate === null ? [] : [[id, confinementOf(allowedPrivate)] as const],
      ),
    )
    this.#mailTargets = new Map(rows.flatMap(mailTargetOf))
  }

  /** The mail server of a project as a target; undefined if it uses the one configured for the node. */
  mailTargetOf(projectId: string): string | undefined {
    return this.#mailTargets.get(projectId)
  }
}

function mailTargetOf({ id, mailServer }: OutgoingSettings): (readonly [string, string])[] {
  const read = mailServer === null ? null : parseMailServer(mailServer)
  return read?.ok ? [[id, smtpTargetOf(read.server)]] : []
}
