import { smtpTargetOf } from '../core/action/call-target.ts'
import { parseMailServer } from '../core/action/mail-settings.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { type OutgoingSettings, outgoingSettings } from '../store/projects/projects.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Confinement, confinementOf, type ProjectNetworks } from './project-networks.ts'

/** Polling interval: every node applies a change within this time. */
const EVERY_MS = 5_000

/**
 * Keeps the projects' settings for their calls: the networks these may reach, and the mail server. `start` resolves after the
 * first read.
 */
export class ProjectSettings extends LoopService implements ProjectNetworks {
  readonly #db: Queryable
  #confined: ReadonlyMap<string, Confinement> = new Map()
  #mailTargets: ReadonlyMap<string, string> = new Map()

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
    const rows = await this.#db.run(outgoingSettings())
    this.#confined = new Map(
      rows.flatMap(({ id, allowedPrivate }) =>
        allowedPrivate === null ? [] : [[id, confinementOf(allowedPrivate)] as const],
      ),
    )
    this.#mailTargets = new Map(rows.flatMap(mailTargetOf))
  }

  of(projectId: string): Confinement | undefined {
    return this.#confined.get(projectId)
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
