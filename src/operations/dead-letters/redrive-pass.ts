import { Refusal } from '../../core/errors.ts'
import { isRefused } from '../../store/database/database.ts'
import type { DeadLetter } from '../../store/history/dead-letters.ts'
import { type RedriveRow, type RedriveState, saveRedrive } from '../../store/history/redrives.ts'
import type { RunPosition } from '../../store/history/run-search.ts'
import type { Context } from '../context.ts'
import { AlreadySettled, redriveRun } from '../runs/runs.ts'
import { type FoundLetters, findLetters, newest } from './dead-letters.ts'
import { pause } from './pause.ts'

/** A node that falls silent keeps others from a redrive for this long. */
export const LEASE_MS = 15_000
const SAVE_EVERY_MS = 1_000
const PAGE = 200
/** A redrive that has not come to its end by then never will. */
const LONGEST_MS = 86_400_000

/** One way through all that a redrive means, as often as it takes. */
export class RedrivePass {
  readonly #context: Context
  readonly #redrive: RedriveRow
  readonly #stop: AbortSignal
  #redriven = 0
  #savedAt = 0
  #lastError: string | null = null
  #nextAt = performance.now()

  constructor(context: Context, redrive: RedriveRow, stop: AbortSignal) {
    this.#context = context
    this.#redrive = redrive
    this.#stop = stop
  }

  /** Answers what has become of the redrive. */
  async run(): Promise<RedriveState> {
    const { db, projectId, clock } = this.#context
    const { filter, createdAt } = this.#redrive
    const counts = { refused: 0, waiting: 0 }
    let before: RunPosition | null = newest()
    while (before !== null) {
      const from: RunPosition = before
      const { letters, next }: FoundLetters = await db.snapshot(
        (tx) => findLetters(tx, { projectId, filter, before: from, limit: PAGE }),
        { inOrder: true },
      )
      for (const letter of letters) {
        if (!letter.isLiving) {
          counts.refused++
          continue
        }
        if (!(await this.#keepRate())) return 'cancelled'
        if (this.#stop.aborted) return 'running'
        await this.#redriveOne(letter, counts)
        if (performance.now() - this.#savedAt >= SAVE_EVERY_MS && !(await this.#save('running', counts)))
          return 'cancelled'
      }
      before = next
    }
    const isOver = clock.now() - createdAt > LONGEST_MS
    const state = counts.waiting === 0 ? 'completed' : isOver ? 'expired' : 'running'
    return (await this.#save(state, counts)) ? state : 'cancelled'
  }

  async #redriveOne(letter: DeadLetter, counts: { refused: number; waiting: number }): Promise<void> {
    try {
      await redriveRun(this.#context, letter)
      this.#redriven++
    } catch (error) {
      if (error instanceof AlreadySettled) return
      // A letter that the database refuses is counted and passed by like one that a rule refuses.
      if (!isRefused(error) || !(error instanceof Error)) throw error
      this.#lastError = error.message
      if (error instanceof Refusal && error.code === 'run_active') counts.waiting++
      else counts.refused++
    }
  }

  /** The first goes at once; what was missed is not made up for. False when the redrive is no longer ours. */
  async #keepRate(): Promise<boolean> {
    const dueAt = Math.max(this.#nextAt, performance.now())
    this.#nextAt = dueAt + 1_000 / this.#redrive.rate
    for (let waitMs = dueAt - performance.now(); waitMs > 0 && !this.#stop.aborted; ) {
      await pause(Math.min(SAVE_EVERY_MS, waitMs), this.#stop)
      waitMs = dueAt - performance.now()
      if (performance.now() - this.#savedAt >= LEASE_MS / 3 && !(await this.#save('running', null)))
        return false
    }
    return true
  }

  /** Notes what was done; false when the redrive is no longer ours. */
  async #save(state: RedriveState, counts: { refused: number; waiting: number } | null): Promise<boolean> {
    const { id, fence, refused, waiting } = this.#redrive
    const redriven = this.#redriven
    this.#savedAt = performance.now()
    const [held] = await this.#context.db.run(
      saveRedrive({
        id,
        fence,
        redriven,
        ...(counts ?? { refused, waiting }),
        lastError: this.#lastError,
        state,
        leaseMs: LEASE_MS,
      }),
    )
    if (held) this.#redriven -= redriven
    return held !== undefined
  }
}
