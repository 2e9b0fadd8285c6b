/**
 * How much of what is due may go into ready because the worker of this process has no room for it. A run
 * that waits there costs twice what one costs that starts from its fire, so it pays only when somebody else
 * is free to take it, or when this worker is stuck. Others are offered a little at a time: while they take
 * it there is soon more, and when it is this worker that takes it back, they are asked less and less often.
 */

/** What the decision depends on. */
export interface Shortage {
  readonly now: number
  /** When the earliest of what is due was due. */
  readonly dueSince: number
  /** How many runs the worker of this process would take on now. */
  readonly room: number
  /** How many it has ever taken out of ready. */
  readonly claimed: number
  readonly hasOthers: boolean
  /** More is due than may wait in this process. */
  readonly isTooLong?: boolean
  /** Whether runs wait in ready already, which is why the worker has no room until it knows that they are gone. */
  readonly isReadyBehind: boolean
}

/** A worker that had no room for so long is stuck: what is due waits in ready, and reads pending. */
const STUCK_MS = 1_000
/** Not while it gets through what waits in ready, unless that takes so long: a run that goes there costs twice as much. */
const BEHIND_READY_MS = 10_000
/** Others are offered nothing that has waited for less than this when the worker has no room at all. */
const PATIENCE_MS = 50
/** And when it has some, so that it gets through what is due, only what has waited for this long. */
const LONG_PATIENCE_MS = 1_000
const LONGEST_PAUSE_MS = 2_000
/** What others are offered at a time. */
const OFFER = 200

export class Overflow {
  #hadRoomAt = Number.NEGATIVE_INFINITY
  #askedSince: number | undefined
  #offeredAt = Number.NEGATIVE_INFINITY
  #pauseMs = PATIENCE_MS
  /** What the worker had taken out of ready when others were last offered something. */
  #claimedBefore = 0

  /** The worker has had no room for so long that everything goes into ready. */
  isStuck = false

  /** How many runs may be fired beyond the room there is: none, an offer, or `all`. */
  allowed(shortage: Shortage, all: number): number {
    const { now, dueSince, room, claimed, hasOthers, isReadyBehind, isTooLong } = shortage
    if (room > 0) this.#hadRoomAt = now
    // However long ago it was due: whether there is room has been asked since then.
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
