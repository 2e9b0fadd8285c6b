/**
 * Claims runs in `ready` for a worker. Claiming runs one by one would cost more than short actions themselves, so up to a
 * second of work is claimed ahead, at the rate that the worker measures. Runs that must start in their own slot are
 * claimed only into a free one, and catch-up runs only when nothing else waits. What a run needs room for is known only once it
 * has been claimed: a run whose line is full is put aside (put-aside.ts), and claimed again when there is room
 * (side-claims.ts).
 */
import type { ClaimedRun } from '../core/run/claim.ts'
import { isRefused, mayHaveBeenCarriedOut } from '../store/database/database.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { UnclaimableRuns } from '../transport/postgres/unclaimable-runs.ts'
import { RateWait } from '../transport/rate-wait.ts'
import type { Taking, Work } from '../transport/transport.ts'
import type { Capacity, Claimed } from './capacity.ts'
import type { PutAside } from './put-aside.ts'
import { type ServedLanes, STALE_MS } from './served-lanes.ts'
import { SideClaims } from './side-claims.ts'
import type { WorkLine } from './work-line.ts'

export interface ClaimingOptions {
  readonly workerId: string
  readonly capacity: Capacity
  readonly lanes: ServedLanes
  readonly transport: Taking
  readonly unclaimable: UnclaimableRuns
  readonly definitions: Definitions
  readonly aside: PutAside
  readonly concurrency: number
  /** Called when a run was taken on, or a slot may have become free or was kept free. */
  fillPlaces(): void
  /** Ends a run that was cancelled before it was claimed. */
  endCancelled(work: Work): void
  /** Reports that a claim may have been made although its reply was lost. */
  doubt(): void
}

/** A claim with the room per lane. */
export interface Ask {
  readonly lanes: readonly number[]
  readonly limit: number
  readonly most?: ReadonlyMap<number, number>
}

/** Maximum number of lanes of runs that need their own slot examined in one pass. */
const MAX_WAITING_LANES = 500
/** A worker that found only runs that others were claiming asks again after this time. */
const ASK_AGAIN_MS = 5
/** The maximum share of a worker's slots for catch-up runs. */
const CATCH_UP_SHARE = 0.5
/**
 * Catch-up runs are not announced, so that runs on time do not wait for claims of them. They are polled for at this interval
 * and for this long.
 */
const CATCH_UP_PACE_MS = 15
const CATCH_UP_LINGER_MS = 5_000
/**
 * If several lanes take turns, less is claimed ahead, and the next claim is made when half of it is left: a run that has just
 * begun to wait in one of the lanes gets its turn only with the next claim.
 */
const AHEAD_IN_TURN_S = 0.15
/** Maximum number of lanes whose turns are recorded. */
const MAX_TURNS_KNOWN = 10_000
/** At least this many runs are claimed in case they are calls, however few of the previous ones were. */
const LEAST_CALLS = 4
/** And at most this many at once: those that find no room must be put back. */
const MOST_CALLS = 1_000

export class Claiming {
  readonly #options: ClaimingOptions
  readonly #sides: SideClaims
  /** Whether runs may be waiting in `ready`: they were there first, so nothing is fired past them. */
  hasBacklog = true
  /** Whether runs were announced in `ready` and no pass has begun since. */
  isTold = false
  #isAheadFirst = false
  /** The share of calls among the runs claimed recently. */
  #callShare = 0
  /** How many runs are claimed in case they are calls: increases while those before were not and more runs may wait behind them. */
  #probe = LEAST_CALLS
  /** The maximum of these: decreases while many of those before found no room. */
  #mostCalls = MOST_CALLS
  #reserved = 0
  /** Number of runs claimed so far. */
  #count = 0
  /** Catch-up runs in hand, and until when more of them are likely. */
  readonly #catchUp = new Set<string>()
  readonly #rates = new RateWait()
  /** For each lane, how much had been claimed in total when it had its latest turn. */
  readonly #turns = new Map<number, number>()
  #catchUpUntil = Number.NEGATIVE_INFINITY

  constructor(options: ClaimingOptions) {
    this.#options = options
    const { capacity, lanes, transport } = options
    this.#sides = new SideClaims({
      capacity,
      lanes,
      claim: (ask, line) => this.#claim(ask, (request) => transport.claim(request), line),
    })
  }

  /** More is claimed when the work in hand lasts no longer than this many seconds. */
  get lowSeconds(): number {
    return this.#isInTurn ? AHEAD_IN_TURN_S / 2 : 0
  }

  /** Whether the runs that may be claimed ahead wait in several lanes. */
  get #isInTurn(): boolean {
    return this.#options.lanes.open.length > 1
  }

  /** Records that a run is no longer in hand. */
  forget(runId: string): void {
    this.#catchUp.delete(runId)
  }

  /** Claims as many runs as there is room for; returns when to look again, if that is soon. */
  async runOnce(): Promise<number | undefined> {
    try {
      return this.#rates.orSooner(await this.#pass())
    } finally {
      if (this.#options.capacity.claimed.length === 0) this.#releaseReserved()
    }
  }

  async #pass(): Promise<number | undefined> {
    const { capacity, lanes } = this.#options
    const wasTold = this.isTold
    this.isTold = false
    const staleInMs = await lanes.refresh(() => capacity.runIds)
    const before = this.#count
    // The two kinds take turns at going first: otherwise one that never runs out would keep the other from every slot.
    this.#isAheadFirst = !this.#isAheadFirst
    const early = this.#isAheadFirst ? await this.#claimAhead() : 'all'
    const placed = await this.#claimIntoPlaces()
    const late = this.#isAheadFirst ? 'all' : await this.#claimAhead()
    this.hasBacklog = [early, placed, late].includes('more')
    const sideInMs = await this.#claimFromSides()
    if (this.hasBacklog && capacity.free(capacity.local) > 0) return this.#count > before ? 0 : ASK_AGAIN_MS
    if (!this.hasBacklog) {
      const catchUpInMs = await this.#claimCatchUp()
      if (catchUpInMs !== undefined) return catchUpInMs
    }
    if (sideInMs !== undefined) return sideInMs
    // Runs were announced and none was found: they may wait in a lane that is not known yet.
    return wasTold && this.#count === before && staleInMs < STALE_MS ? staleInMs : undefined
  }

  /** Begins the claimed runs once their definitions are loaded; runs without room are put aside. */
  async beginClaimed(where: 'first' | 'last'): Promise<void> {
    const { capacity, definitions: known, endCancelled, fillPlaces, aside } = this.#options
    if (capacity.claimed.length === 0) return this.#releaseReserved()
    const claimed = [...capacity.claimed]
    const definitions = await known.of(claimed.map(({ run }) => run))
    capacity.claimed.splice(0, claimed.length)
    this.#releaseReserved()
    const wasAside = aside.count
    for (const [i, each] of claimed.entries()) {
      if (each.line) each.line.reserved--
      const definition = definitions[i]
      if (!definition) continue
      const work = { ...each.run, definition }
      if (work.isCancelled) endCancelled(work)
      else this.#takeOn(work, each, where)
    }
    const sentBack = aside.count - wasAside
    if (sentBack > claimed.length / 4)
      this.#mostCalls = Math.max(LEAST_CALLS, Math.floor(this.#mostCalls / 2))
    else this.#mostCalls = Math.min(MOST_CALLS, 2 * this.#mostCalls)
    fillPlaces()
  }

  #takeOn(work: Work, { line: reserved }: Claimed, where: 'first' | 'last'): void {
    const { capacity, aside } = this.#options
    const line = reserved ?? capacity.of(capacity.lineOf(work.definition))
    if (!reserved) this.#callShare += ((line.calls ? 1 : 0) - this.#callShare) / SHARE_WINDOW
    line.claimed++
    if (reserved || this.#hasRoom(line, where)) capacity.takeOn(work, line, where)
    else {
      this.forget(work.runId)
      aside.add(work, line, where === 'first')
    }
  }

  #hasRoom(line: WorkLine, where: 'first' | 'last'): boolean {
    const { capacity } = this.#options
    if (where === 'first') return capacity.places(line) > 0
    // Sending back a few runs that could be handled anyway costs more than keeping them in hand.
    const allowed = capacity.allowedAhead(line)
    return capacity.free(line) > 0 || (allowed > 0 && line.waiting < allowed + LEAST_CALLS)
  }

  /** Claims catch-up runs once nothing else waits, and into a share of the slots only: runs on time must find a free one. */
  async #claimCatchUp(): Promise<number | undefined> {
    const { capacity, lanes: served, transport, concurrency } = this.#options
    const lanes = served.catchUp
    if (lanes.length === 0) return undefined
    // A run that left without being performed, for example because it was cancelled while it waited in hand, has released its
    // slot.
    for (const runId of this.#catchUp) if (!capacity.holds(runId)) this.#catchUp.delete(runId)
    const places = Math.max(1, Math.floor(concurrency * CATCH_UP_SHARE)) - this.#catchUp.size
    const limit = Math.min(places, capacity.free(capacity.local) + this.#freeCalls)
    const first = capacity.claimed.length
    await this.#claim({ lanes, limit }, (request) => transport.claim(request))
    const claimed = capacity.claimed.slice(first)
    for (const { run } of claimed) this.#catchUp.add(run.runId)
    await this.beginClaimed('last')
    if (claimed.length > 0) this.#catchUpUntil = performance.now() + CATCH_UP_LINGER_MS
    return performance.now() < this.#catchUpUntil ? CATCH_UP_PACE_MS : undefined
  }

  /** Claims runs that start only in their own slot: they go before those that wait in hand. */
  async #claimIntoPlaces(): Promise<'all' | 'more'> {
    const { capacity, lanes, transport, aside } = this.#options
    const kept = capacity.keptLines.filter((line) => capacity.places(line) > 0)
    const sides = this.#sides.withFreePlaces()
    const lookedAt = performance.now()
    const blocked = aside.blocked()
    const { gated, strict, upTo, opensInMs } = await lanes.waiting({
      limit: MAX_WAITING_LANES,
      sides: [...sides.keys()],
      blocked: [...blocked],
    })
    this.#rates.clear()
    this.#rates.note(opensInMs, performance.now() - lookedAt)
    const occupied = new Set([...gated, ...strict])
    this.#sides.keepSlots(kept, occupied, aside.linesWaitedFor(occupied))
    const places = capacity.places(capacity.local)
    const limit = places + capacity.places(capacity.programs) + this.#freeCalls
    const open = gated.filter((lane) => !blocked.has(lane))
    this.#reserveLocally(places)
    const found = [
      await this.#claim({ lanes: open, limit, most: sides }, (request) =>
        transport.claimGated({ ...request, upTo }),
      ),
      await this.#claim({ lanes: this.#inTurn(strict), limit, most: sides }, (request) =>
        transport.claim(request),
      ),
    ]
    await this.beginClaimed('first')
    return found.includes('more') ? 'more' : 'all'
  }

  /** Claims runs that may wait in hand for a slot. */
  async #claimAhead(): Promise<'all' | 'more'> {
    const { capacity, lanes, transport } = this.#options
    const room =
      capacity.free(capacity.local) + capacity.ahead(capacity.local, this.#isInTurn ? AHEAD_IN_TURN_S : 1)
    const limit = room + this.#freeCalls
    this.#reserveLocally(room)
    const found = await this.#claim({ lanes: this.#inTurn(lanes.open), limit }, (request) =>
      transport.claim(request),
    )
    await this.beginClaimed('last')
    this.#probe = found === 'more' && room === 0 ? Math.min(MOST_CALLS, 2 * this.#probe) : LEAST_CALLS
    return found
  }

  async #claimFromSides(): Promise<number | undefined> {
    const againInMs = await this.#sides.runOnce()
    await this.beginClaimed('last')
    return againInMs
  }

  /** Orders lanes by turn: the lane that was claimed from longest ago goes first. */
  #inTurn(lanes: readonly number[]): readonly number[] {
    if (lanes.length < 2) return lanes
    const turnOf = (lane: number) => this.#turns.get(lane) ?? 0
    return lanes.toSorted((a, b) => turnOf(a) - turnOf(b))
  }

  /** Records which lanes had their turn. */
  #noteTurns(runs: readonly ClaimedRun[]): void {
    if (this.#turns.size > MAX_TURNS_KNOWN) this.#turns.clear()
    for (const { lane, side } of runs) if (lane !== undefined) this.#turns.set(side ?? lane, this.#count)
  }

  /** Reserves room on this machine for the runs being claimed until it is known what they need. */
  #reserveLocally(room: number): void {
    this.#reserved += room
    this.#options.capacity.local.reserved += room
  }

  #releaseReserved(): void {
    this.#options.capacity.local.reserved -= this.#reserved
    this.#reserved = 0
  }

  /** How many runs may be claimed in case they are calls, which is known only afterwards. */
  get #freeCalls(): number {
    const free = Math.min(this.#options.capacity.freeCalls, this.#mostCalls)
    return Math.min(free, Math.max(this.#probe, Math.ceil(free * this.#callShare)))
  }

  /** Claims from lanes; returns `more` if there may be more runs than there was room for. */
  async #claim(
    { lanes, limit, most }: Ask,
    claim: Taking['claim'],
    lineOf: (lane: number) => WorkLine | null = () => null,
  ): Promise<'all' | 'more'> {
    const { capacity, workerId, doubt, unclaimable } = this.#options
    if (lanes.length === 0) return 'all'
    if (limit <= 0) return 'more'
    try {
      const { runs, isShort } = await claim({ workerId, lanes, limit, ...(most ? { most } : {}) })
      this.#count += runs.length
      if (lanes.length > 1) this.#noteTurns(runs)
      capacity.claimed.push(...runs.map((run) => ({ run, line: run.side ? lineOf(run.side) : null })))
      return runs.length === limit || isShort ? 'more' : 'all'
    } catch (error) {
      if (isRefused(error) && (await unclaimable.setAside({ workerId, lanes, limit }))) return 'more'
      if (mayHaveBeenCarriedOut(error)) doubt()
      throw error
    }
  }
}

/** Number of runs over which the share of calls is averaged. */
const SHARE_WINDOW = 50
