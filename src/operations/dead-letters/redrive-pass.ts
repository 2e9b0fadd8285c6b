/**
 * A pass through the dead letters of a redrive, latest first. A redrive takes as many passes as it needs. Its lease ends long
 * before a slow one does: when the next start is not near, when others wait for the slot and when the node stops, the position
 * is stored, and the node that leases the redrive next continues from there.
 */

import { Refusal } from '../../core/errors.ts'
import type { Interruptions } from '../../runtime/leased-work.ts'
import { isRefused } from '../../store/database/database.ts'
import type { DeadLetter } from '../../store/history/dead-letters.ts'
import { type LeasedRedrive, type RedriveState, saveRedrive } from '../../store/history/redrives.ts'
import type { RunPosition } from '../../store/history/run-search.ts'
import type { Context } from '../context.ts'
import { AlreadySettled, redriveRun } from '../runs/runs.ts'
import { type FoundLetters, findLetters, newest } from './dead-letters.ts'
import { pause } from './pause.ts'

/** Lease of a redrive: if its node stops responding, other nodes take over after this time. */
export const LEASE_MS = 15_000
const SAVE_EVERY_MS = 1_000
/** If the next start is further away, the redrive releases its lease until then. */
const LONGEST_PAUSE_MS = 1_000
const BETWEEN_PASSES_MS = 1_000
const MAX_PAGE = 200
/** A page has dead letters for this time: a slow redrive releases its lease after one of them, and reads the others again. */
const PAGE_SECONDS = 10
/** A redrive that has not completed within this time expires. */
const LONGEST_MS = 86_400_000

export class RedrivePass {
  readonly #context: Context
  readonly #redrive: LeasedRedrive
  readonly #interruptions: Interruptions
  readonly #counts: { refused: number; waiting: number }
  /** Behind the last dead letter that was dealt with; null at the beginning and at the end. */
  #position: RunPosition | null
  #redriven = 0
  #savedAt = performance.now()
  #lastError: string | null = null
  #nextAt: number

  constructor(context: Context, redrive: LeasedRedrive, interruptions: Interruptions) {
    const { passPosition, refused, waiting, lateMs } = redrive
    this.#context = context
    this.#redrive = redrive
    this.#interruptions = interruptions
    this.#position = passPosition
    this.#counts = passPosition === null ? { refused: 0, waiting: 0 } : { refused, waiting }
    this.#nextAt = performance.now() - lateMs
  }

  /** Continues the pass until it ends or is interrupted, or the lease is lost. Afterwards, the redrive is no longer leased. */
  async run(): Promise<void> {
    const { db, projectId } = this.#context
    const { filter, rate } = this.#redrive
    const paced = Math.min(MAX_PAGE, Math.ceil(rate * PAGE_SECONDS))
    let limit = paced
    do {
      const before = this.#position ?? newest()
      const { letters, next }: FoundLetters = await db.snapshot(
        (tx) => findLetters(tx, { projectId, filter, before, limit }),
        { inOrder: true },
      )
      // Dead letters of ended tasks start nothing, so the rate does not limit how many of them are read at once.
      limit = letters.some(({ isLiving }) => isLiving) ? paced : MAX_PAGE
      for (const letter of letters) {
        if (this.#isInterrupted || (letter.isLiving && !(await this.#isTime())))
          return this.#release(this.#untilNextMs)
        await this.#dealWith(letter)
        if (!(await this.#keep())) return
      }
      this.#position = next
      if (!(await this.#keep())) return
    } while (this.#position !== null)
    await this.#end()
  }

  async #dealWith(letter: DeadLetter): Promise<void> {
    if (letter.isLiving) {
      // The next start follows sooner after a late one, but it does not catch up on missed starts.
      this.#nextAt = Math.max(this.#nextAt + 1_000 / this.#redrive.rate, performance.now())
      await this.#redriveOne(letter)
    } else this.#counts.refused++
    this.#position = { us: letter.us, id: letter.id }
  }

  async #redriveOne(letter: DeadLetter): Promise<void> {
    try {
      await redriveRun(this.#context, letter)
      this.#redriven++
    } catch (error) {
      if (error instanceof AlreadySettled) return
      // A dead letter that the database rejects is counted and skipped, like one that a rule rejects.
      if (!isRefused(error) || !(error instanceof Error)) throw error
      this.#lastError = error.message
      if (error instanceof Refusal && error.code === 'run_active') this.#counts.waiting++
      else this.#counts.refused++
    }
  }

  get #untilNextMs(): number {
    return Math.max(0, this.#nextAt - performance.now())
  }

  /** The node stops, or others wait; then each lease moves on by at least one dead letter. */
  get #isInterrupted(): boolean {
    const { stopping, turnOver } = this.#interruptions
    return stopping.aborted || (turnOver.aborted && this.#position !== this.#redrive.passPosition)
  }

  /** Waits for the next start that the rate allows. Returns false if the lease is to be released instead. */
  async #isTime(): Promise<boolean> {
    if (this.#untilNextMs > LONGEST_PAUSE_MS) return false
    if (this.#untilNextMs > 0) await pause(this.#untilNextMs, this.#interruptions.stopping)
    return !this.#interruptions.stopping.aborted
  }

  async #end(): Promise<void> {
    const isOver = this.#context.clock.now() - this.#redrive.createdAt > LONGEST_MS
    if (this.#counts.waiting > 0 && !isOver)
      return this.#release(Math.max(BETWEEN_PASSES_MS, this.#untilNextMs))
    await this.#save({ state: this.#counts.waiting === 0 ? 'completed' : 'expired', reservedMs: 0 })
  }

  async #release(dueInMs: number): Promise<void> {
    await this.#save({ state: 'running', reservedMs: dueInMs })
  }

  /** Saves the progress from time to time; returns false if another node has taken over the redrive or it was cancelled. */
  async #keep(): Promise<boolean> {
    if (performance.now() - this.#savedAt < SAVE_EVERY_MS) return true
    return this.#save({ state: 'running', reservedMs: LEASE_MS })
  }

  async #save(as: { readonly state: RedriveState; readonly reservedMs: number }): Promise<boolean> {
    const { id, fence } = this.#redrive
    const redriven = this.#redriven
    this.#savedAt = performance.now()
    const [held] = await this.#context.db.run(
      saveRedrive({
        id,
        fence,
        redriven,
        ...this.#counts,
        lastError: this.#lastError,
        passPosition: this.#position,
        ...as,
      }),
    )
    if (held) this.#redriven -= redriven
    return held !== undefined
  }
}
