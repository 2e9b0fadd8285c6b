/**
 * A node's part of a request quota that all nodes share. The quota is a bucket in the database: it holds as many requests as
 * may come at once, and refills at its rate. A node leases requests from it before they come, about as many as it will need
 * in the next moments, so that it decides about nearly every request by itself:
 *
 * - while it has some, a request takes one;
 * - while it knows that the bucket is empty, a request is refused;
 * - else it asks for more. Where the bucket was well filled when last heard of, or has had the time to be, the request is
 *   lent one meanwhile, so that nobody waits who is far from the limit; else the request waits for the answer.
 *
 * What was lent is deducted with the next question, also from an empty bucket, so that over time the rate is exact. What a
 * node has and does not use, it gives back. Instants are those of a monotonic clock, in milliseconds.
 */

/** How many requests may come. */
export interface QuotaPolicy {
  /** From one request to the next, at the rate. */
  readonly gapMs: number
  /** How many may come at once: what the bucket holds. */
  readonly burst: number
}

/** What a node asks of the bucket. */
export interface QuotaQuestion {
  /** Requests to deduct in any case; what is given back is less than zero. */
  readonly owed: number
  /** Requests to lease, if there are as many. */
  readonly wanted: number
}

/** What the bucket answers. */
export interface QuotaAnswer {
  readonly granted: number
  /** What the bucket holds after this; less than zero where more was owed than it held. */
  readonly left: number
  /** Until the bucket holds one again; 0 if it does. */
  readonly opensInMs: number
}

/** `taken` or `refused`, or `unknown` until the bucket has answered. */
export type Taking = 'taken' | 'refused' | 'unknown'

/** A node leases what it needs for this long, and never more than this part of what the bucket can hold. */
const LEASED_MS = 200
const LEASED_PART = 1 / 4
/** The bucket is well filled from this part on. No more than this are lent at a time. */
const FILLED_PART = 1 / 2
const MOST_LENT = 100
/** An empty bucket is asked again no sooner than this. */
const EMPTY_PAUSE_MS = 50
/** What was not used for this long is given back. */
const UNUSED_MS = 500
/** Demand is measured over stretches no shorter than this. */
const MEASURED_MS = 50
/** While the bucket does not answer, requests are not counted for this long. */
const BLIND_MS = 1_000

export class LeasedQuota {
  readonly policy: QuotaPolicy
  /** Requests in hand; those that were lent are less than zero. */
  #credit = 0
  /** What the bucket held when last heard of. */
  #left: number
  #heardAt: number
  #askedAt: number
  #emptyUntil = Number.NEGATIVE_INFINITY
  #blindUntil = Number.NEGATIVE_INFINITY
  #isAsking = false
  #usedAt: number
  /** Requests a millisecond, and those counted since. */
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

  /** One request comes. */
  take(now: number): Taking {
    this.#usedAt = now
    this.#seen++
    return this.retake(now)
  }

  /** The same for one that came before and has waited for an answer. */
  retake(now: number): Taking {
    if (this.#credit > 0 || now < this.#blindUntil || this.#lends(now)) {
      this.#credit--
      return 'taken'
    }
    return now < this.#emptyUntil ? 'refused' : 'unknown'
  }

  /** Lets a request through that could not be decided about in time. */
  lend(): void {
    this.#credit--
  }

  /** A request that took one goes no further. */
  giveBack(): void {
    this.#credit++
  }

  /** Whether there is something to ask: more is needed, something was lent, or something is not used. */
  shouldAsk(now: number): boolean {
    if (this.#isAsking || now < this.#blindUntil) return false
    if (this.#credit < 0) return true
    if (now - this.#usedAt >= UNUSED_MS) return this.#credit > 0
    return now >= this.#emptyUntil && this.#credit < this.#lead(now) / 2
  }

  /** The question to put to the bucket while so many requests wait for it. Nothing else is asked until it was answered. */
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
    // An answer may have taken long: the bucket fills since the question, if not since before.
    this.#emptyUntil =
      granted < wanted
        ? now + Math.max(opensInMs, EMPTY_PAUSE_MS)
        : left < 1
          ? this.#askedAt + opensInMs
          : Number.NEGATIVE_INFINITY
  }

  /** The bucket could not be asked. Until it is tried again requests are not counted: without the database they fail anyway. */
  noAnswer(now: number): void {
    this.#isAsking = false
    this.#credit = 0
    this.#blindUntil = now + BLIND_MS
  }

  /** Requests that could come now, as far as this node knows. */
  remaining(now: number): number {
    return Math.max(0, Math.floor(Math.min(this.policy.burst, this.#credit + this.#level(now))))
  }

  /** Until another request could come. */
  opensInMs(now: number): number {
    if (this.#credit > 0) return 0
    return Math.max(0, this.#emptyUntil - now, (1 - this.#level(now)) * this.policy.gapMs)
  }

  /**
   * Nothing is in hand, lent or being asked for, nobody has come for a while, and the bucket is full again. A quota that is forgotten
   * sooner would be taken for full by the next request, which would then be lent one, whatever the rate.
   */
  isIdle(now: number, afterMs: number): boolean {
    const isUnused = !this.#isAsking && this.#credit === 0 && now - this.#usedAt > afterMs
    return isUnused && this.#level(now) >= this.policy.burst
  }

  /** What the bucket holds by now if nobody else has taken any. */
  #level(now: number): number {
    return Math.min(this.policy.burst, this.#left + (now - this.#heardAt) / this.policy.gapMs)
  }

  /** Whether to let a request through before the bucket was asked. */
  #lends(now: number): boolean {
    const { burst } = this.policy
    const lent = -this.#credit
    const most = Math.min(MOST_LENT, Math.max(1, burst * LEASED_PART))
    return lent < most && this.#level(now) - lent >= Math.max(1, burst * FILLED_PART)
  }

  /** How many requests to have in hand; none where they are so rare that lending does. */
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
