/**
 * Claims for a worker what waits in ready. Because claiming one by one would cost more than short actions themselves, it takes
 * up to a second of work ahead, at the rate the worker measures; what must start in a place of its own is claimed into a
 * free one alone, and what makes up for an outage when nothing else waits.
 */
import { isRefused, mayHaveBeenCarriedOut } from '../store/database/database.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { UnclaimableRuns } from '../transport/postgres/unclaimable-runs.ts'
import type { Taking, Work } from '../transport/transport.ts'
import type { Capacity } from './capacity.ts'
import { type ServedLanes, STALE_MS } from './served-lanes.ts'

export interface ClaimingOptions {
  readonly workerId: string
  readonly hand: Capacity
  readonly lanes: ServedLanes
  readonly transport: Taking
  readonly unclaimable: UnclaimableRuns
  readonly definitions: Definitions
  readonly concurrency: number
  /** Begins with what was claimed, so far as there are places. */
  begin(runs: readonly Work[], where: 'first' | 'last'): void
  /** A place may have come free, or was kept. */
  fillPlaces(): void
  /** A run was cancelled before it was claimed. */
  endCancelled(work: Work): void
  /** A claim may have been made without its answer having been heard. */
  doubt(): void
}

/** Lanes of runs that need a place of their own looked at in one pass. */
const MAX_WAITING_LANES = 500
/** Whoever found nothing but what somebody else was at asks again after this. */
const ASK_AGAIN_MS = 5
/** Of its places a worker gives at most this part to what makes up for an outage. */
const LATE_SHARE = 0.5
/** Nobody speaks of such runs, so that nothing on time waits for a claim of them: they are looked for, so often and for so long. */
const LATE_PACE_MS = 15
const LATE_LINGER_MS = 5_000

export class Claiming {
  readonly #options: ClaimingOptions
  /** Runs claimed so far. */
  count = 0
  /** Runs may be waiting in ready: they were there first, so nothing is fired past them. */
  hasBacklog = true
  /** Somebody said that runs were put into ready, and no pass has begun since. */
  isTold = false
  #isAheadFirst = false
  /** Runs in hand that make up for an outage, and until when there are likely to be more. */
  readonly #late = new Set<string>()
  #lateUntil = Number.NEGATIVE_INFINITY

  constructor(options: ClaimingOptions) {
    this.#options = options
  }

  /** A run is no longer in hand. */
  forget(runId: string): void {
    this.#late.delete(runId)
  }

  /** Claims what there is room for; answers when to look again, if that is soon. */
  async runOnce(): Promise<number | undefined> {
    const { hand, lanes } = this.#options
    const wasTold = this.isTold
    this.isTold = false
    const staleInMs = await lanes.refresh(() => hand.runIds)
    const before = this.count
    // Neither kind goes first always: one that never runs out would keep the other from every place.
    this.#isAheadFirst = !this.#isAheadFirst
    const early = this.#isAheadFirst ? await this.#claimAhead() : 'all'
    const placed = await this.#claimIntoPlaces()
    const late = this.#isAheadFirst ? 'all' : await this.#claimAhead()
    this.hasBacklog = [early, placed, late].includes('more')
    if (this.hasBacklog && hand.free > 0) return this.count > before ? 0 : ASK_AGAIN_MS
    if (!this.hasBacklog) {
      const lateInMs = await this.#claimLate()
      if (lateInMs !== undefined) return lateInMs
    }
    // There was said to be something and nothing was found: it may wait in a lane that is not known yet.
    return wasTold && this.count === before && staleInMs < STALE_MS ? staleInMs : undefined
  }

  /** Begins what was claimed, once its definitions are here. */
  async beginClaimed(where: 'first' | 'last'): Promise<void> {
    const { hand, definitions: known, begin, endCancelled } = this.#options
    if (hand.claimed.length === 0) return
    const claimed = [...hand.claimed]
    const definitions = await known.of(claimed)
    hand.claimed.splice(0, claimed.length)
    const works = claimed.flatMap((run, i) => {
      const definition = definitions[i]
      return definition ? [{ ...run, definition }] : []
    })
    const wanted = works.filter((work) => !work.isCancelled)
    hand.reserved -= claimed.length - wanted.length
    for (const work of works) if (work.isCancelled) endCancelled(work)
    begin(wanted, where)
  }

  /**
   * Claims what makes up for an outage, once nothing else waits, and into a part of the places only: what is on
   * time must find one free.
   */
  async #claimLate(): Promise<number | undefined> {
    const { hand, lanes: served, transport, concurrency } = this.#options
    const lanes = served.late
    if (lanes.length === 0) return undefined
    const isLate = ({ runId }: { readonly runId: string }) => this.#late.has(runId)
    const inHand = [...hand.attempts.values()].filter(({ work }) => isLate(work)).length
    const places =
      Math.max(1, Math.floor(concurrency * LATE_SHARE)) - inHand - hand.queue.filter(isLate).length
    const limit = Math.min(hand.free, places)
    const first = hand.claimed.length
    await this.#claim(lanes, limit, (request) => transport.claim(request))
    const claimed = hand.claimed.slice(first)
    for (const { runId } of claimed) this.#late.add(runId)
    await this.beginClaimed('last')
    if (claimed.length > 0) this.#lateUntil = performance.now() + LATE_LINGER_MS
    return performance.now() < this.#lateUntil ? LATE_PACE_MS : undefined
  }

  /** Claims what starts only in a place of its own: it goes before what waits in hand. */
  async #claimIntoPlaces(): Promise<'all' | 'more'> {
    const { hand, lanes, transport, fillPlaces } = this.#options
    const { gated, strict, upTo } = await lanes.waiting(MAX_WAITING_LANES)
    const before = this.count
    const found = [
      await this.#claim(gated, hand.places, (request) => transport.claimGated({ ...request, upTo })),
      await this.#claim(strict, hand.places, (request) => transport.claim(request)),
    ]
    const hasMore = found.includes('more')
    hand.isPlaceKept = hasMore && this.count === before
    await this.beginClaimed('first')
    fillPlaces()
    return hasMore ? 'more' : 'all'
  }

  /** Claims what may wait in hand for a place. */
  async #claimAhead(): Promise<'all' | 'more'> {
    const { hand, lanes, transport } = this.#options
    const found = await this.#claim(lanes.open, hand.free + hand.ahead, (request) => transport.claim(request))
    await this.beginClaimed('last')
    return found
  }

  /** Claims from lanes; `more` when there may be more than there was room for. */
  async #claim(lanes: readonly number[], limit: number, claim: Taking['claim']): Promise<'all' | 'more'> {
    const { hand, workerId, doubt, unclaimable } = this.#options
    if (lanes.length === 0) return 'all'
    if (limit <= 0) return 'more'
    hand.reserved += limit
    let count = 0
    try {
      const { runs, isShort } = await claim({ workerId, lanes, limit })
      count = runs.length
      this.count += count
      hand.claimed.push(...runs)
      return count === limit || isShort ? 'more' : 'all'
    } catch (error) {
      if (isRefused(error) && (await unclaimable.setAside({ workerId, lanes, limit }))) return 'more'
      if (mayHaveBeenCarriedOut(error)) doubt()
      throw error
    } finally {
      hand.reserved -= limit - count
    }
  }
}
