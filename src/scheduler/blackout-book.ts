import { type InForce, inForce, spanAfter } from '../core/policy/blackout.ts'
import { growingCache } from '../runtime/growing-cache.ts'
import { LoopService } from '../runtime/loop-service.ts'
import type { Queryable } from '../store/database/database.ts'
import { type BlackoutRow, projectsOf, readBlackouts } from '../store/projects/blackouts.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

/** A blackout whose announcement was lost is noticed within this time. */
const EVERY_MS = 2_000
const MAX_TASKS_KNOWN = 100_000

/** The blackouts of one project, as a decision queries them. */
export interface Blackouts {
  at(instant: number): InForce | null
  /** Returns when the first window after an instant begins. */
  nextAfter(instant: number): number | null
}

/**
 * The blackouts of all projects, reread periodically and whenever a change is announced. While there are no blackouts, which is
 * usual, lookups cost nothing.
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

  /** Resolves when the blackouts have been read: nothing is fired before that. */
  override async start(): Promise<void> {
    await this.runOnce()
    super.start()
  }

  get isEmpty(): boolean {
    return this.#byProject.size === 0
  }

  /** Reads all blackouts. */
  async runOnce(): Promise<undefined> {
    const byProject = new Map<string, BlackoutRow[]>()
    for (const row of await this.#db.run(readBlackouts()))
      byProject.set(row.projectId, [...(byProject.get(row.projectId) ?? []), row])
    this.#byProject = byProject
  }

  /** Looks up the projects of tasks, if there are any blackouts. */
  async learn(rows: readonly { readonly taskId: string }[]): Promise<void> {
    if (this.isEmpty) return
    const unknown = rows.map(({ taskId }) => taskId).filter((id) => !this.#projects.has(id))
    if (unknown.length === 0) return
    for (const { taskId, projectId } of await this.#db.run(projectsOf(unknown)))
      this.#projects.set(taskId, projectId)
  }

  /** The blackouts of a task's project; null if there are none. */
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
