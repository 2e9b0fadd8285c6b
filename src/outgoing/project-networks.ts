/**
 * Which private networks the calls of a project may reach, where it says so itself. A project can only give up what the
 * installation allows: both are asked. Where no project says anything it costs a look at an empty map.
 */
import { type Network, networkText, parseNetwork } from '../core/values/network.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { confinedProjects } from '../store/projects/projects.ts'
import type { Logger } from '../telemetry/logger.ts'

/** The private networks that some requests must not leave. */
export interface Confinement {
  /** The same for the same networks: what is connected under one is used by nobody else. */
  readonly key: string
  readonly networks: readonly Network[]
}

/** Tells the networks of projects. */
export interface ProjectNetworks {
  /** Undefined for a project that says nothing. */
  of(projectId: string): Confinement | undefined
}

/** For requests of no project. */
export const UNCONFINED: ProjectNetworks = { of: () => undefined }

/** How often projects are read: by then every node follows a change. */
const EVERY_MS = 5_000

/** Follows the projects in the database. It has read them once before its start is over. */
export class StoredProjectNetworks extends LoopService implements ProjectNetworks {
  readonly #db: Queryable
  #confined: ReadonlyMap<string, Confinement> = new Map()

  constructor({ db, log }: { readonly db: Queryable; readonly log: Logger }) {
    super({ name: 'project networks', everyMs: EVERY_MS, log })
    this.#db = db
  }

  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  /** Reads the projects anew; tests call this instead of waiting. */
  async runOnce(): Promise<undefined> {
    const rows = await this.#db.run(confinedProjects())
    this.#confined = new Map(rows.map(({ id, allowedPrivate }) => [id, confinementOf(allowedPrivate)]))
  }

  of(projectId: string): Confinement | undefined {
    return this.#confined.get(projectId)
  }
}

/** What cannot be read allows nothing. */
export function confinementOf(texts: readonly string[]): Confinement {
  const networks = texts.flatMap((text) => parseNetwork(text) ?? [])
  return { key: networks.map(networkText).sort().join(' '), networks }
}
