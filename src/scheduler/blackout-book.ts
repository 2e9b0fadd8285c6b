import { type InForce, inForce, spanAfter } from '../core/policy/blackout.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { type BlackoutRow, projectsOf, readBlackouts } from '../store/projects/blackouts.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

/** A window that nobody spoke of is noticed within this time. */
const EVERY_MS = 2_000
const MAX_TASKS_KNOWN = 100_000

/** The blackouts of one project, as a decision asks for them. */
export interface Blackouts {
  at(instant: number): InForce | null
  /** When the first window begins after an instant. */
  nextAfter(instant: number): number | null
}

/**
 * The blackouts of all projects, read again now and then and whenever somebody says that they changed. While
 * there are none, which is most of the time, nobody pays for them.
 */
export class BlackoutBook extends LoopService {
  readonly #db: Queryable
  readonly #projects = growingCache<string, string>(MAX_TASKS_KNOWN)
  #byProject = new Map<string, BlackoutRow[]>()

  constructor({ db, wakeUps, log }: { db: Queryable; wakeUps: WakeUps; log: Logger }) {
    super({ name: 'blackouts', everyMs: EVERY_MS, log })
    this.#db = db
    wakeUps.onQueues(() => this.wake())
  }

  /** Resolves when the book was read: nothing is fired before that. */
  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  get isEmpty(): boolean {
    return this.#byProject.size === 0
  }

  /** Reads all there are. */
  async runOnce(): Promise<undefined> {
    const byProject = new Map<string, BlackoutRow[]>()
    for (const row of await this.#db.run(readBlackouts()))
      byProject.set(row.projectId, [...(byProject.get(row.projectId) ?? []), row])
    this.#byProject = byProject
  }

  /** Learns which projects tasks belong to, while that matters. */
  async learn(rows: readonly { readonly taskId: string }[]): Promise<void> {
    if (this.isEmpty) return
    const unknown = rows.map(({ taskId }) => taskId).filter((id) => !this.#projects.has(id))
    if (unknown.length === 0) return
    for (const { taskId, projectId } of await this.#db.run(projectsOf(unknown)))
      this.#projects.set(taskId, projectId)
  }

  /** The blackouts of a task's project; null when there are none. */
  of(taskId: string): Blackouts | null {
    if (this.#byProject.size === 0) return null
    const rows = this.#byProject.get(this.#projects.get(taskId) ?? '')
    return rows
      ? { at: (instant) => inForce(rows, instant), nextAfter: (instant) => nextAfter(rows, instant) }
      : null
  }
}

function nextAfter(rows: readonly BlackoutRow[], instant: number): number | null {
  const begins = rows.flatMap(({ rule }) => spanAfter(rule, instant)?.from ?? [])
  return begins.length === 0 ? null : Math.min(...begins)
}
