/**
 * Claims for a worker what waits in ready. Because claiming one by one would cost more than short actions themselves, it takes
 * up to a second of work ahead, at the rate the worker measures; what must start in a slot of its own is claimed into a
 * free one alone, and what makes up for an outage when nothing else waits. What a run needs room for is known only once it has been claimed:
 * one whose line is full is put aside (put-aside.ts), and claimed from there when there is room (side-claims.ts).
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
  readonly hand: Capacity
  readonly lanes: ServedLanes
  readonly transport: Taking
  readonly unclaimable: UnclaimableRuns
  readonly definitions: Definitions
  readonly aside: PutAside
  readonly concurrency: number
  /** A run was taken on, or a slot may have come free, or was kept. */
  fillPlaces(): void
  /** A run was cancelled before it was claimed. */
  endCancelled(work: Work): void
  /** A claim may have been made without its answer having been heard. */
  doubt(): void
}

/** A claim whose room is known for each lane, and the lines that room was reserved in. */
export interface Ask {
  readonly lanes: readonly number[]
  readonly limit: number
  readonly most?: ReadonlyMap<number, number>
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
/**
 * Where several lanes take turns, less is taken on ahead, and more is on its way while half of it is left: what has just come to wait in
 * one of them can only have its turn with the next claim.
 */
const AHEAD_IN_TURN_S = 0.15
/** Lanes whose turns are remembered. */
const MAX_TURNS_KNOWN = 10_000
/** So many runs are claimed in case they are calls, however many of those before were none. */
const LEAST_CALLS = 4
/** And no more than so many at once: those that find no room have to go back. */
const MOST_CALLS = 1_000

export class Claiming {
  readonly #options: ClaimingOptions
  readonly #sides: SideClaims
  /** Runs may be waiting in ready: they were there first, so nothing is fired past them. */
  hasBacklog = true
  /** Somebody said that runs were put into ready, and no pass has begun since. */
  isTold = false
  #isAheadFirst = false
  /** Which part of what was claimed lately were calls. */
  #callShare = 0
  /** How many are claimed in case they are calls: more and more while those before were none and others may wait behind them. */
  #probe = LEAST_CALLS
  /** How many at most: fewer while many of those before found no room. */
  #mostCalls = MOST_CALLS
  #held = 0
  /** Runs claimed so far. */
  #count = 0
  /** Runs in hand that make up for an outage, and until when there are likely to be more. */
  readonly #late = new Set<string>()
  readonly #rates = new RateWait()
  /** Of each lane how much had been claimed when it had its latest turn. */
  readonly #turns = new Map<number, number>()
  #lateUntil = Number.NEGATIVE_INFINITY

  constructor(options: ClaimingOptions) {
    this.#options = options
    const { hand, lanes, transport } = options
    this.#sides = new SideClaims({
      hand,
      lanes,
      claim: (ask, line) => this.#claim(ask, (request) => transport.claim(request), line),
    })
  }

  /** More is to be claimed while what is in hand is gone after so many seconds. */
  get lowSeconds(): number {
    return this.#isInTurn ? AHEAD_IN_TURN_S / 2 : 0
  }

  /** Whether what may be claimed ahead waits in several lanes. */
  get #isInTurn(): boolean {
    return this.#options.lanes.open.length > 1
  }

  /** A run is no longer in hand. */
  forget(runId: string): void {
    this.#late.delete(runId)
  }

  /** Claims what there is room for; answers when to look again, if that is soon. */
  async runOnce(): Promise<number | undefined> {
    try {
      return this.#rates.orSooner(await this.#pass())
    } finally {
      if (this.#options.hand.claimed.length === 0) this.#letGo()
    }
  }

  async #pass(): Promise<number | undefined> {
    const { hand, lanes } = this.#options
    const wasTold = this.isTold
    this.isTold = false
    const staleInMs = await lanes.refresh(() => hand.runIds)
    const before = this.#count
    // Neither kind goes first always: one that never runs out would keep the other from every place.
    this.#isAheadFirst = !this.#isAheadFirst
    const early = this.#isAheadFirst ? await this.#claimAhead() : 'all'
    const placed = await this.#claimIntoPlaces()
    const late = this.#isAheadFirst ? 'all' : await this.#claimAhead()
    this.hasBacklog = [early, placed, late].includes('more')
    const sideInMs = await this.#claimFromSides()
    if (this.hasBacklog && hand.free(hand.local) > 0) return this.#count > before ? 0 : ASK_AGAIN_MS
    if (!this.hasBacklog) {
      const lateInMs = await this.#claimLate()
      if (lateInMs !== undefined) return lateInMs
    }
    if (sideInMs !== undefined) return sideInMs
    // There was said to be something and nothing was found: it may wait in a lane that is not known yet.
    return wasTold && this.#count === before && staleInMs < STALE_MS ? staleInMs : undefined
  }

  /** Begins what was claimed, once its definitions are here; what there is no room for is put aside. */
  async beginClaimed(where: 'first' | 'last'): Promise<void> {
    const { hand, definitions: known, endCancelled, fillPlaces, aside } = this.#options
    if (hand.claimed.length === 0) return this.#letGo()
    const claimed = [...hand.claimed]
    const definitions = await known.of(claimed.map(({ run }) => run))
    hand.claimed.splice(0, claimed.length)
    this.#letGo()
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
    const { hand, aside } = this.#options
    const line = reserved ?? hand.of(hand.lineOf(work.definition))
    if (!reserved) this.#callShare += ((line.calls ? 1 : 0) - this.#callShare) / SHARE_WINDOW
    line.claimed++
    if (reserved || this.#hasRoom(line, where)) hand.takeOn(work, line, where)
    else {
      this.forget(work.runId)
      aside.add(work, line, where === 'first')
    }
  }

  #hasRoom(line: WorkLine, where: 'first' | 'last'): boolean {
    const { hand } = this.#options
    if (where === 'first') return hand.places(line) > 0
    // To send a few back that it would get to all the same costs more than to have them in hand.
    const allowed = hand.allowedAhead(line)
    return hand.free(line) > 0 || (allowed > 0 && line.waiting < allowed + LEAST_CALLS)
  }

  /**
   * Claims what makes up for an outage, once nothing else waits, and into a part of the places only: what is on
   * time must find one free.
   */
  async #claimLate(): Promise<number | undefined> {
    const { hand, lanes: served, transport, concurrency } = this.#options
    const lanes = served.late
    if (lanes.length === 0) return undefined
    // What left without being performed, such as a run that was cancelled while it waited in hand, has given back its place.
    for (const runId of this.#late) if (!hand.holds(runId)) this.#late.delete(runId)
    const places = Math.max(1, Math.floor(concurrency * LATE_SHARE)) - this.#late.size
    const limit = Math.min(places, hand.free(hand.local) + this.#freeCalls)
    const first = hand.claimed.length
    await this.#claim({ lanes, limit }, (request) => transport.claim(request))
    const claimed = hand.claimed.slice(first)
    for (const { run } of claimed) this.#late.add(run.runId)
    await this.beginClaimed('last')
    if (claimed.length > 0) this.#lateUntil = performance.now() + LATE_LINGER_MS
    return performance.now() < this.#lateUntil ? LATE_PACE_MS : undefined
  }

  /** Claims what starts only in a place of its own: it goes before what waits in hand. */
  async #claimIntoPlaces(): Promise<'all' | 'more'> {
    const { hand, lanes, transport, aside } = this.#options
    const kept = hand.keptLines.filter((line) => hand.places(line) > 0)
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
    const places = hand.places(hand.local)
    const limit = places + hand.places(hand.programs) + this.#freeCalls
    const open = gated.filter((lane) => !blocked.has(lane))
    this.#holdLocally(places)
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

  /** Claims what may wait in hand for a place. */
  async #claimAhead(): Promise<'all' | 'more'> {
    const { hand, lanes, transport } = this.#options
    const room = hand.free(hand.local) + hand.ahead(hand.local, this.#isInTurn ? AHEAD_IN_TURN_S : 1)
    const limit = room + this.#freeCalls
    this.#holdLocally(room)
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

  /** Lanes in the order in which they get their turns: the one that was claimed from longest ago goes first. */
  #inTurn(lanes: readonly number[]): readonly number[] {
    if (lanes.length < 2) return lanes
    const turnOf = (lane: number) => this.#turns.get(lane) ?? 0
    return lanes.toSorted((a, b) => turnOf(a) - turnOf(b))
  }

  /** Remembers whose turn it was. */
  #noteTurns(runs: readonly ClaimedRun[]): void {
    if (this.#turns.size > MAX_TURNS_KNOWN) this.#turns.clear()
    for (const { lane, side } of runs) if (lane !== undefined) this.#turns.set(side ?? lane, this.#count)
  }

  /** Room on this machine is held for what is being claimed until it is known what that needs. */
  #holdLocally(room: number): void {
    this.#held += room
    this.#options.hand.local.reserved += room
  }

  #letGo(): void {
    this.#options.hand.local.reserved -= this.#held
    this.#held = 0
  }

  /** How many runs may be claimed in case they are calls: what is claimed is known only afterwards. */
  get #freeCalls(): number {
    const free = Math.min(this.#options.hand.freeCalls, this.#mostCalls)
    return Math.min(free, Math.max(this.#probe, Math.ceil(free * this.#callShare)))
  }

  /** Claims from lanes; `more` when there may be more than there was room for. */
  async #claim(
    { lanes, limit, most }: Ask,
    claim: Taking['claim'],
    lineOf: (lane: number) => WorkLine | null = () => null,
  ): Promise<'all' | 'more'> {
    const { hand, workerId, doubt, unclaimable } = this.#options
    if (lanes.length === 0) return 'all'
    if (limit <= 0) return 'more'
    try {
      const { runs, isShort } = await claim({ workerId, lanes, limit, ...(most ? { most } : {}) })
      this.#count += runs.length
      if (lanes.length > 1) this.#noteTurns(runs)
      hand.claimed.push(...runs.map((run) => ({ run, line: run.side ? lineOf(run.side) : null })))
      return runs.length === limit || isShort ? 'more' : 'all'
    } catch (error) {
      if (isRefused(error) && (await unclaimable.setAside({ workerId, lanes, limit }))) return 'more'
      if (mayHaveBeenCarriedOut(error)) doubt()
      throw error
    }
  }
}

/** The share of calls is that of about so many runs. */
const SHARE_WINDOW = 50
