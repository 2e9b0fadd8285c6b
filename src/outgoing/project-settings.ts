import { smtpTargetOf } from '../core/action/call-target.ts'
import { parseMailServer } from '../core/action/mail-settings.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { type OutgoingSettings, outgoingSettings } from '../store/projects/projects.ts'
import type { Logger } from '../telemetry/logger.ts'
import { type Confinement, confinementOf, type ProjectNetworks } from './project-networks.ts'

/** How often projects are read: by then every node follows a change. */
const EVERY_MS = 5_000

/** Follows what projects say about their calls: the networks that these may reach, and the mail server. It has read them once before its start is over. */
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

  /** Reads the projects anew; tests call this instead of waiting. */
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

  /** The mail server of a project as a target; undefined where it uses the one that the node is set up with. */
  mailTargetOf(projectId: string): string | undefined {
    return this.#mailTargets.get(projectId)
  }
}

function mailTargetOf({ id, mailServer }: OutgoingSettings): (readonly [string, string])[] {
  const read = mailServer === null ? null : parseMailServer(mailServer)
  return read?.ok ? [[id, smtpTargetOf(read.server)]] : []
}
