/**
 * A node's part of a request quota that all nodes share. The quota is a bucket in the database, whose capacity is the allowed
 * burst and which refills at the rate of the quota. A node leases requests from it in advance, about as many as it will need in
 * the next moments, so that it decides about nearly every request locally:
 * - while the node has leased requests left, a request takes one;
 * - while the node knows that the bucket is empty, a request is refused;
 * - otherwise the node asks the bucket for more. If the bucket was at least half full at its last answer, or has had time to
 * become so, the request borrows one meanwhile, so that clients far from the limit never wait; otherwise the request waits for
 * the answer.
 *
 * Borrowed requests are deducted with the next question, even from an empty bucket, so that over time the rate is exact. A node
 * returns leased requests that it does not use. Instants are those of a monotonic clock, in milliseconds.
 */

/** The rate and the burst of a quota. */
export interface QuotaPolicy {
  /** Time between two requests at the rate. */
  readonly gapMs: number
  /** Maximum number of requests at once, which is the capacity of the bucket. */
  readonly burst: number
}

/** A node's question to the bucket. */
export interface QuotaQuestion {
  /** Requests to deduct in any case; negative if requests are returned. */
  readonly owed: number
  /** Requests to lease, if the bucket has that many. */
  readonly wanted: number
}

/** The bucket's answer. */
export interface QuotaAnswer {
  readonly granted: number
  /** Requests left in the bucket afterwards; negative if more was owed than the bucket held. */
  readonly left: number
  /** Time until the bucket has a request again; 0 if it has one. */
  readonly opensInMs: number
}

/** Result of taking a request: `taken`, `refused`, or `unknown` until the bucket has answered. */
export type Taking = 'taken' | 'refused' | 'unknown'

/** A node leases the requests that it needs for this time, but at most this part of the bucket's capacity. */
const LEASED_MS = 200
const LEASED_PART = 1 / 4
/** A request may borrow while the bucket is at least this full. At most this many are borrowed at a time. */
const FILLED_PART = 1 / 2
const MOST_LENT = 100
/** Minimum pause before an empty bucket is asked again. */
const EMPTY_PAUSE_MS = 50
/** Leased requests that are unused for this long are returned. */
const UNUSED_MS = 500
/** Minimum period over which demand is measured. */
const MEASURED_MS = 50
/** How long requests are not counted after the bucket did not answer. */
const BLIND_MS = 1_000

export class LeasedQuota {
  readonly policy: QuotaPolicy
  /** Leased requests in hand; negative if requests were borrowed. */
  #credit = 0
  /** Requests in the bucket at its last answer. */
  #left: number
  #heardAt: number
  #askedAt: number
  #emptyUntil = Number.NEGATIVE_INFINITY
  #blindUntil = Number.NEGATIVE_INFINITY
  #isAsking = false
  #usedAt: number
  /** Demand in requests per millisecond, and the requests counted since it was measured. */
  #demand = 0
  #seen = 0
  #seenSince: number

  constructor(policy: QuotaPolicy, now: number) {
    this.policy = policy
    this.#left = policy.burst
    this.#heardAt = now
    this.#askedAt = now
    this.#usedAt = now
    this.#seenSince = now
  }

  /** Takes a request for a new client request. */
  take(now: number): Taking {
    this.#usedAt = now
    this.#seen++
    return this.retake(now)
  }

  /** Tries again to take a request, for a client request that has waited for an answer. */
  retake(now: number): Taking {
    if (this.#credit > 0 || now < this.#blindUntil || this.#lends(now)) {
      this.#credit--
      return 'taken'
    }
    return now < this.#emptyUntil ? 'refused' : 'unknown'
  }

  /** Lets a request borrow because no decision was possible in time. */
  lend(): void {
    this.#credit--
  }

  /** Returns a request that was taken but not used. */
  giveBack(): void {
    this.#credit++
  }

  /** Whether to ask the bucket: because more requests are needed, because some were borrowed, or to return unused ones. */
  shouldAsk(now: number): boolean {
    if (this.#isAsking || now < this.#blindUntil) return false
    if (this.#credit < 0) return true
    if (now - this.#usedAt >= UNUSED_MS) return this.#credit > 0
    return now >= this.#emptyUntil && this.#credit < this.#lead(now) / 2
  }

  /** The question for the bucket, while `waiting` requests wait for the answer. `shouldAsk` is false until it is answered. */
  ask(now: number, waiting: number): QuotaQuestion {
    this.#isAsking = true
    this.#askedAt = now
    const isUnused = waiting === 0 && now - this.#usedAt >= UNUSED_MS
    const owed = isUnused ? -this.#credit : Math.max(0, -this.#credit)
    this.#credit += owed
    const needed = isUnused ? 0 : Math.max(this.#lead(now), waiting)
    return { owed, wanted: Math.max(0, needed - this.#credit) }
  }

  answer({ granted, left, opensInMs }: QuotaAnswer, wanted: number, now: number): void {
    this.#isAsking = false
    this.#credit += granted
    this.#left = left
    this.#heardAt = now
    // The answer may have taken long: the bucket has been refilling since the question was asked, or earlier.
    this.#emptyUntil =
      granted < wanted
        ? now + Math.max(opensInMs, EMPTY_PAUSE_MS)
        : left < 1
          ? this.#askedAt + opensInMs
          : Number.NEGATIVE_INFINITY
  }

  /** The bucket could not be asked. Until the next attempt requests are not counted: without the database they fail anyway. */
  noAnswer(now: number): void {
    this.#isAsking = false
    this.#credit = 0
    this.#blindUntil = now + BLIND_MS
  }

  /** Number of requests that could be made now, as far as this node knows. */
  remaining(now: number): number {
    return Math.max(0, Math.floor(Math.min(this.policy.burst, this.#credit + this.#level(now))))
  }

  /** Time until another request could be made. */
  opensInMs(now: number): number {
    if (this.#credit > 0) return 0
    return Math.max(0, this.#emptyUntil - now, (1 - this.#level(now)) * this.policy.gapMs)
  }

  /**
   * Whether the quota can be removed from memory: nothing is leased, borrowed or being asked for, no request has come for a
   * while, and the bucket is full again. After an earlier removal the next request would assume a full bucket and borrow,
   * whatever the rate.
   */
  isIdle(now: number, afterMs: number): boolean {
    const isUnused = !this.#isAsking && this.#credit === 0 && now - this.#usedAt > afterMs
    return isUnused && this.#level(now) >= this.policy.burst
  }

  /** Requests in the bucket now, if no other node has taken any. */
  #level(now: number): number {
    return Math.min(this.policy.burst, this.#left + (now - this.#heardAt) / this.policy.gapMs)
  }

  /** Whether a request may borrow before the bucket has answered. */
  #lends(now: number): boolean {
    const { burst } = this.policy
    const lent = -this.#credit
    const most = Math.min(MOST_LENT, Math.max(1, burst * LEASED_PART))
    return lent < most && this.#level(now) - lent >= Math.max(1, burst * FILLED_PART)
  }

  /** Number of requests to keep in hand; none if requests are so rare that borrowing suffices. */
  #lead(now: number): number {
    const elapsed = now - this.#seenSince
    if (elapsed >= MEASURED_MS) {
      this.#demand = this.#seen / elapsed
      this.#seen = 0
      this.#seenSince = now
    }
    return Math.min(Math.floor(this.#demand * LEASED_MS), Math.ceil(this.policy.burst * LEASED_PART))
  }
}
