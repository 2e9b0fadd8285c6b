/**
 * Keeps lines by project and target, and removes unused ones: a line in the state of a new one after a minute, a line with a
 * shrunk limit or an open circuit after an hour. It never removes a line that has calls in progress, is paused or waits for its
 * rate. So memory is proportional to the targets in use.
 */
import type { Line } from './target-line.ts'

/** When there are more lines than this, those unused longest are removed first. */
export const MAX_LINES = 20_000
/** Number of lines removed at once, so that the search for them is rare. */
const EVICTED = 2_000
/** Time is counted in ages of this length: a line records the age in which it was last used. */
const AGE_MS = 30_000
const ORDINARY_AGES = 2
const OTHER_AGES = 120

/** The lines of a project. Calls of tasks that opted out of the circuit have separate lines. */
interface ProjectLines {
  readonly guarded: Map<string, Line>
  readonly always: Map<string, Line>
}

export class LineShelf {
  readonly #now: () => number
  readonly #projects = new Map<string, ProjectLines>()
  #timer: NodeJS.Timeout | undefined
  #size = 0
  age = 0

  constructor(now: () => number) {
    this.#now = now
  }

  get size(): number {
    return this.#size
  }

  find(projectId: string, target: string, hasCircuit: boolean): Line | undefined {
    const project = this.#projects.get(projectId)
    return hasCircuit ? project?.guarded.get(target) : project?.always.get(target)
  }

  /** Adds a line. If another line has taken its place and has calls in progress, that one stays. */
  keep(line: Line): void {
    const other = this.find(line.projectId, line.target, line.circuit !== null)
    if (other !== undefined && other.underWay > 0) return
    if (other !== undefined) this.#forget(other)
    if (this.#size >= MAX_LINES) this.#evict()
    line.isForgotten = false
    line.usedIn = this.age
    this.#mapOf(line).set(line.target, line)
    this.#size++
    this.#timer ??= setInterval(() => this.passAge(), AGE_MS).unref()
  }

  *[Symbol.iterator](): Iterator<Line> {
    for (const { guarded, always } of this.#projects.values()) {
      yield* guarded.values()
      yield* always.values()
    }
  }

  /** Advances the age and removes unused lines. Called by the timer while there are lines, and by tests. */
  passAge(): void {
    this.age++
    const now = this.#now()
    for (const line of this) {
      const unused = this.age - line.usedIn
      if (unused < ORDINARY_AGES || line.underWay > 0) continue
      if (unused < OTHER_AGES ? line.isOrdinary(now) : !line.mustStay(now)) this.#forget(line)
    }
    if (this.#size === 0) this.close()
  }

  close(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #evict(): void {
    const now = this.#now()
    const rank = (line: Line) => line.usedIn - (line.isOrdinary(now) ? OTHER_AGES : 0)
    const idle = [...this].filter(({ underWay }) => underWay === 0)
    idle.sort((a, b) => rank(a) - rank(b))
    for (const line of idle.slice(0, EVICTED)) this.#forget(line)
  }

  #forget(line: Line): void {
    line.isForgotten = true
    const map = this.#mapOf(line)
    map.delete(line.target)
    this.#size--
    const project = this.#projects.get(line.projectId)
    if (project?.guarded.size === 0 && project.always.size === 0) this.#projects.delete(line.projectId)
  }

  #mapOf({ projectId, circuit }: Line): Map<string, Line> {
    let project = this.#projects.get(projectId)
    if (project === undefined) {
      project = { guarded: new Map(), always: new Map() }
      this.#projects.set(projectId, project)
    }
    return circuit === null ? project.always : project.guarded
  }
}
