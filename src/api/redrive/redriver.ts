/**
 * Runs dead letters again, as many a second as was asked for. One api node at a time works on a redrive; when it dies
 * or stops, another one goes on. A letter is settled in the transaction that makes its new run, and its row there is
 * single, so none is run again twice, whoever believes to hold the lease.
 *
 * Those whose task lets one run be active at a time wait for one another: a pass that had to leave some out is
 * followed by another one, until none is left.
 */
import { Refusal } from '../../core/errors.ts'
import type { Logger } from '../../runtime/logger.ts'
import { Loop } from '../../runtime/loop.ts'
import type { Service } from '../../runtime/service.ts'
import type { DeadLetter } from '../../store/dead-letters.ts'
import {
  leaseRedrives,
  type RedriveRow,
  type RedriveState,
  releaseRedrive,
  saveRedrive,
} from '../../store/redrives.ts'
import type { RunPosition } from '../../store/run-search.ts'
import type { Context } from '../operations/context.ts'
import { type FoundLetters, findLetters, newest } from '../operations/dead-letters.ts'
import { AlreadySettled, redriveRun } from '../operations/runs.ts'

const EVERY_MS = 1_000
const LEASE_MS = 15_000
const SAVE_EVERY_MS = 1_000
/** Redrives that a node works on at once. */
const MAX_HELD = 4
const PAGE = 200
const BETWEEN_PASSES_MS = 1_000
/** A redrive that has not come to its end by then never will. */
const LONGEST_MS = 86_400_000

export interface RedriverOptions {
  readonly context: Context
  readonly log: Logger
}

export class Redriver implements Service {
  readonly #options: RedriverOptions
  readonly #loop: Loop
  readonly #held = new Map<string, Promise<void>>()
  readonly #stopping = new AbortController()

  constructor(options: RedriverOptions) {
    this.#options = options
    this.#loop = new Loop({
      name: 'redrives',
      everyMs: EVERY_MS,
      log: options.log,
      runOnce: () => this.runOnce(),
    })
  }

  start(): void {
    this.#loop.start()
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#loop.stop()
    await Promise.all(this.#held.values())
  }

  /** Takes on what nobody works on. */
  async runOnce(): Promise<undefined> {
    const { context, log } = this.#options
    const { db, projectId } = context
    const limit = MAX_HELD - this.#held.size
    if (limit <= 0) return
    for (const redrive of await db.run(leaseRedrives({ projectId, leaseMs: LEASE_MS, limit }))) {
      const key = `${redrive.id} ${redrive.fence}`
      const work = this.#work(redrive)
        .catch((error: unknown) =>
          log.warn({ err: error, redrive: redrive.id }, 'a redrive was left; somebody will go on'),
        )
        .finally(() => this.#held.delete(key))
      this.#held.set(key, work)
    }
  }

  async #work(redrive: RedriveRow): Promise<void> {
    const { context } = this.#options
    const pass = new Pass(context, redrive, this.#stopping.signal)
    while (!this.#stopping.signal.aborted) {
      const state = await pass.run()
      if (state !== 'running') return
      await pause(BETWEEN_PASSES_MS, this.#stopping.signal)
    }
    const { id, fence } = redrive
    await context.db.run(releaseRedrive({ id, fence }))
  }
}

/** One way through all that a redrive means, as often as it takes. */
class Pass {
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
      if (!(error instanceof Refusal) || error.code === 'unavailable') throw error
      this.#lastError = error.message
      if (error.code === 'run_active') counts.waiting++
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

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, ms)
    signal.addEventListener('abort', done)
    if (signal.aborted) done()
  })
}
