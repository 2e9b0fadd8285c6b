import { Refusal } from '../../core/errors.ts'
import { isRefused } from '../../store/database/database.ts'
import type { DeadLetter } from '../../store/history/dead-letters.ts'
import { type RedriveRow, type RedriveState, saveRedrive } from '../../store/history/redrives.ts'
import type { RunPosition } from '../../store/history/run-search.ts'
import type { Context } from '../context.ts'
import { AlreadySettled, redriveRun } from '../runs/runs.ts'
import { type FoundLetters, findLetters, newest } from './dead-letters.ts'
import { pause } from './pause.ts'

/** Lease of a redrive: if its node stops responding, other nodes take over after this time. */
export const LEASE_MS = 15_000
const SAVE_EVERY_MS = 1_000
const PAGE = 200
/** A redrive that has not completed within this time expires. */
const LONGEST_MS = 86_400_000

/** One pass through all dead letters of a redrive; a redrive takes as many passes as it needs. */
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

  /** Returns the state of the redrive after the pass. */
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
      // A dead letter that the database rejects is counted and skipped, like one that a rule rejects.
      if (!isRefused(error) || !(error instanceof Error)) throw error
      this.#lastError = error.message
      if (error instanceof Refusal && error.code === 'run_active') counts.waiting++
      else counts.refused++
    }
  }

  /**
   * Waits for the next start that the rate allows. The first starts at once; it does not catch up on missed starts. Returns
   * false if another node has taken over the redrive or it was cancelled.
   */
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

  /** Saves the progress; returns false if another node has taken over the redrive or it was cancelled. */
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
