/**
 * How many due runs may go into `ready` because the worker of this process has no room for them. A run that waits there costs
 * twice as much as one that starts when it is fired, so this pays only if another worker is free to take it, or if this worker
 * is stuck. Other workers are offered a few runs at a time: while they take them, more offers follow soon; if this worker
 * claims the runs back itself, offers become less and less frequent.
 */

/** What the decision depends on. */
export interface Shortage {
  readonly now: number
  /** When the earliest of the due runs was due. */
  readonly dueSince: number
  /** How many runs the worker of this process would take on now. */
  readonly room: number
  /** How many runs that worker has claimed from `ready` in total. */
  readonly claimed: number
  readonly hasOthers: boolean
  /** Whether more runs are due than may wait in this process. */
  readonly isTooLong?: boolean
  /** Whether runs already wait in `ready`; the worker has no room until it knows that they are gone. */
  readonly isReadyBehind: boolean
}

/** A worker that has had no room for this long is stuck: due runs then wait in `ready` and are shown as pending. */
const STUCK_MS = 1_000
/** Used instead while the worker processes the runs in `ready`, because a run that goes there costs twice as much. */
const BEHIND_READY_MS = 10_000
/** While the worker has no room at all, runs that have waited for less than this are not offered to others. */
const PATIENCE_MS = 50
/** While the worker has some room, and so makes progress, only runs that have waited for this long are offered. */
const LONG_PATIENCE_MS = 1_000
const LONGEST_PAUSE_MS = 2_000
/** Number of runs offered at a time. */
const OFFER = 200

export class Overflow {
  #hadRoomAt = Number.NEGATIVE_INFINITY
  #askedSince: number | undefined
  #offeredAt = Number.NEGATIVE_INFINITY
  #pauseMs = PATIENCE_MS
  /** How many runs the worker had claimed from `ready` at the last offer. */
  #claimedBefore = 0

  /** Whether the worker has been full long enough that everything goes into `ready`. */
  isStuck = false

  /** Returns how many runs may be fired beyond the available room: none, an offer, or `all`. */
  allowed(shortage: Shortage, all: number): number {
    const { now, dueSince, room, claimed, hasOthers, isReadyBehind, isTooLong } = shortage
    if (room > 0) this.#hadRoomAt = now
    // Counts from the first check for room, however long ago the run was due.
    this.#askedSince ??= now
    const hadRoomAt = Math.max(isTooLong ? this.#askedSince : this.#hadRoomAt, this.#askedSince, dueSince)
    const patientMs = isReadyBehind && !isTooLong ? BEHIND_READY_MS : STUCK_MS
    this.isStuck = (room === 0 || isTooLong === true) && now - hadRoomAt > patientMs
    if (this.isStuck) return all
    const sinceOffer = now - this.#offeredAt
    const patienceMs = room > 0 ? LONG_PATIENCE_MS : PATIENCE_MS
    if (!hasOthers || isReadyBehind || now - dueSince <= patienceMs || sinceOffer < this.#pauseMs) return 0
    const isTakenBack = sinceOffer < 2 * LONGEST_PAUSE_MS && claimed - this.#claimedBefore >= OFFER / 2
    this.#pauseMs = isTakenBack ? Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2) : PATIENCE_MS
    this.#offeredAt = now
    this.#claimedBefore = claimed
    return OFFER
  }
}
