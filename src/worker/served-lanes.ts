import type { Database } from '../store/database.ts'
import { anyGate, openGates, servedLanes } from '../store/queues.ts'

/** A lane that was made, or a queue that was paused, is noticed within this time. */
const STALE_MS = 250

/** The lanes that a worker claims from: those whose queue is not paused and that ask for nothing it cannot do. */
export class ServedLanes {
  readonly #db: Database
  readonly #labels: readonly string[]
  #strict: number[] = []
  #open: number[] = []
  #hasGates = false
  #readAt = Number.NEGATIVE_INFINITY

  constructor(db: Database, labels: readonly string[]) {
    this.#db = db
    this.#labels = labels
  }

  /** Lanes whose runs are claimed only into a free place. */
  get strict(): readonly number[] {
    return this.#strict
  }

  get open(): readonly number[] {
    return this.#open
  }

  serves(lane: number): 'ahead' | 'free' | undefined {
    if (this.#open.includes(lane)) return 'ahead'
    return this.#strict.includes(lane) ? 'free' : undefined
  }

  /** Lanes with a gate that has a free place and something waiting behind it, as of now. */
  async gated(limit: number): Promise<number[]> {
    if (!this.#hasGates || limit <= 0) return []
    return (await this.#db.run(openGates({ labels: this.#labels, limit }))).map(({ id }) => id)
  }

  async refresh(): Promise<void> {
    if (performance.now() - this.#readAt < STALE_MS) return
    const lanes = await this.#db.run(servedLanes(this.#labels))
    const [gates] = await this.#db.run(anyGate())
    this.#hasGates = gates?.any ?? false
    this.#readAt = performance.now()
    this.#open = lanes.filter(({ isStrict }) => !isStrict).map(({ id }) => id)
    this.#strict = lanes.filter(({ isStrict }) => isStrict).map(({ id }) => id)
  }
}
