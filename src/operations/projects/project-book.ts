/**
 * Cache of projects on this node, to find the one that a request names. An entry is valid for one second, and is dropped at
 * once when a project is created, archived or restored, or its request rate is changed.
 */
import { ShortMemory } from '../../runtime/short-memory.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type KnownProject, knownProjectByName, knownProjects } from '../../store/projects/projects.ts'
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

  /** Looks the name up among all projects, so only for callers who may know of all of them. */
  named(name: string): KnownProject | null | Promise<KnownProject | null> {
    return this.#byName.get(name, async () => (await this.#db.run(knownProjectByName(name)))[0] ?? null)
  }

  /**
   * Returns the project with this name among those with the given ids. What is read, and so how long it takes, does not depend on
   * the name: the caller cannot find out whether another project has it.
   */
  async namedAmong(name: string, ids: Iterable<string>): Promise<KnownProject | null> {
    const projects = await Promise.all(this.#withIds([...ids]))
    return projects.find((project) => project?.name === name) ?? null
  }

  withId(id: string): KnownProject | null | Promise<KnownProject | null> {
    return this.#withIds([id])[0] ?? null
  }

  /** Reads those that are not cached with one statement. */
  #withIds(ids: readonly string[]): (KnownProject | null | Promise<KnownProject | null>)[] {
    let all: Promise<ReadonlyMap<string, KnownProject>> | undefined
    const read = async (id: string) => {
      all ??= this.#read(ids)
      return (await all).get(id) ?? null
    }
    return ids.map((id) => this.#byId.get(id, () => read(id)))
  }
  async #read(ids: readonly string[]): Promise<ReadonlyMap<string, KnownProject>> {
    const rows = await this.#db.run(knownProjects(ids))
    return new Map(rows.map((row) => [row.id, row]))
  }
}
