/**
 * Whether runs may stand in a worker's name that it never heard of, because the answer to a claim was lost, and when it has to
 * look for them. A look comes due soon after the first doubt and again until the last one is settled; doubts that are
 * raised meanwhile move no look that is due. So a run is found within `SETTLED_MS` and one `LOOK_EVERY_MS` of its claim, however
 * often answers are lost. Pure.
 */

/** A claim is answered or given up on within this time of when the database carried it out: the longest a statement takes is 12 s. */
const SETTLED_MS = 13_000
/** A claim that was given up on may still be carried out for so long. */
const LATE_CLAIM_MS = 11_000
const LOOK_EVERY_MS = 2_000
/** Looking takes longer the more is due; this part of the time is spent on it at most. */
const SHARE = 0.2

export class Doubt {
  #lastAt = Number.NEGATIVE_INFINITY
  #lookAt: number | undefined

  /** When an answer was last lost. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** The answer to a claim was lost. */
  raise(now: number): void {
    this.#lastAt = Math.max(this.#lastAt, now)
    this.#lookAt ??= now + LOOK_EVERY_MS
  }

  /** Runs that were claimed before the instant that this answers must be known by now; undefined while no look is due. */
  lookBefore(now: number): number | undefined {
    return this.#lookAt === undefined || now < this.#lookAt ? undefined : now - SETTLED_MS
  }

  /** How long it is until the next look is due; undefined when there is no doubt. */
  dueInMs(now: number): number | undefined {
    return this.#lookAt === undefined ? undefined : Math.max(0, this.#lookAt - now)
  }

  /** Everything that was claimed before this instant has been accounted for. */
  settleBefore(claimedBefore: number, tookMs: number): void {
    const isOver = this.#lastAt + LATE_CLAIM_MS < claimedBefore
    const lookedAt = claimedBefore + SETTLED_MS
    this.#lookAt = isOver ? undefined : lookedAt + Math.max(LOOK_EVERY_MS, tookMs / SHARE)
  }
}
