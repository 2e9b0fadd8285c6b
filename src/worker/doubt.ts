/**
 * Tracks whether a worker may hold leases of runs that it does not know of, because the reply to a claim was lost, and when to
 * look for them. A look is due soon after the first doubt, and again until the last doubt is settled; further doubts do not
 * move a look that is already due. So a run is found within `SETTLED_MS` plus one `LOOK_EVERY_MS` of its claim, however often
 * replies are lost. Pure.
 */

/** A claim is answered or given up within this time after the database carried it out: a statement takes at most 12 s. */
const SETTLED_MS = 13_000
/** A claim that was given up may still be carried out for this long. */
const LATE_CLAIM_MS = 11_000
const LOOK_EVERY_MS = 2_000
/** A look takes longer the more is due; looks take at most this share of the time. */
const SHARE = 0.2

export class Doubt {
  #lastAt = Number.NEGATIVE_INFINITY
  #lookAt: number | undefined

  /** When a reply was last lost. */
  get lastAt(): number {
    return this.#lastAt
  }

  /** Records that the reply to a claim was lost. */
  raise(now: number): void {
    this.#lastAt = Math.max(this.#lastAt, now)
    this.#lookAt ??= now + LOOK_EVERY_MS
  }

  /** Returns the instant before which every claimed run must be known by now; undefined while no look is due. */
  lookBefore(now: number): number | undefined {
    return this.#lookAt === undefined || now < this.#lookAt ? undefined : now - SETTLED_MS
  }

  /** Returns how long until the next look is due; undefined if there is no doubt. */
  dueInMs(now: number): number | undefined {
    return this.#lookAt === undefined ? undefined : Math.max(0, this.#lookAt - now)
  }

  /** Records that everything claimed before this instant has been accounted for. */
  settleBefore(claimedBefore: number, tookMs: number): void {
    const isOver = this.#lastAt + LATE_CLAIM_MS < claimedBefore
    const lookedAt = claimedBefore + SETTLED_MS
    this.#lookAt = isOver ? undefined : lookedAt + Math.max(LOOK_EVERY_MS, tookMs / SHARE)
  }
}
