/**
 * Cache of projects on this node, to find the one that a request names. An entry is valid for one second, and is dropped at
 * once when a project is created, archived or restored, or its request rate is changed.
 */
import { ShortMemory } from '../../runtime/short-memory.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type KnownProject, knownProject, knownProjectByName } from '../../store/projects/projects.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'
import { CallerMemory } from '../access/caller-memory.ts'

const FRESH_MS = 1_000
const MAX_PROJECTS_KNOWN = 10_000

export class ProjectBook {
  readonly #db: Queryable
  readonly #byName = new CallerMemory<KnownProject>({ freshMs: FRESH_MS, max: MAX_PROJECTS_KNOWN })
  readonly #byId = new ShortMemory<KnownProject | null>({ freshMs: FRESH_MS, max: MAX_PROJECTS_KNOWN })

  constructor({ db, wakeUps }: { readonly db: Queryable; readonly wakeUps: WakeUps }) {
    this.#db = db
    wakeUps.onAccess(() => {
      this.#byName.forget()
      this.#byId.forget()
    })
  }

  named(name: string): KnownProject | null | Promise<KnownProject | null> {
    return this.#byName.get(name, async () => (await this.#db.run(knownProjectByName(name)))[0] ?? null)
  }

  withId(id: string): KnownProject | null | Promise<KnownProject | null> {
    return this.#byId.get(id, async () => (await this.#db.run(knownProject(id)))[0] ?? null)
  }
}
