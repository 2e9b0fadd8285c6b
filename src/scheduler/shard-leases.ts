/**
 * Acquires and renews this node's shard leases. In every pass a node beats for its shards, counts the other schedulers,
 * releases shards beyond its share, and takes those that are free or whose owner has stopped beating. There is no leader: each
 * node decides only for itself, and the conditional update lets exactly one of several nodes win. Each node measures how long
 * an owner has been quiet on its own monotonic clock, and only while it can read, so a restart of the database takes no shard
 * from anyone.
 */
import { SHARD_COUNT } from '../core/ids.ts'
import type { Unwatched } from '../core/policy/misfire.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { Watch } from '../runtime/watch.ts'
import {
  type BeatenShard,
  beatShards,
  readShards,
  releaseShards,
  type ShardRow,
  takeShards,
  unwatchedOf,
} from '../store/agenda/shards.ts'
import type { Database } from '../store/database/database.ts'
import { type LivingNode, livingNodes } from '../store/nodes/nodes.ts'
import type { Logger } from '../telemetry/logger.ts'

export interface ShardLeaseOptions {
  readonly nodeId: string
  readonly db: Database
  readonly log: Logger
  readonly beatMs: number
  readonly takeoverMs: number
  readonly monotonic?: () => number
}

/** A shard that this node owns. */
export interface LeasedShard {
  readonly id: number
  readonly fence: number
  /**
   * The shard's unwatched periods: an occurrence that came due in one and is still there was missed, also in those under
   * earlier owners.
   */
  readonly unwatched: readonly Unwatched[]
}

export class ShardLeases implements Service {
  readonly #options: ShardLeaseOptions
  readonly #loop: Loop
  readonly #watch: Watch
  readonly #leased = new Map<number, LeasedShard>()
  /** Nodes whose shards have all gone quiet, with their beat at that time. They are not counted until the beat changes. */
  readonly #suspects = new Map<string, number>()
  readonly #monotonic: () => number
  #living: ReadonlySet<string> = new Set()
  #beatenAt = Number.NEGATIVE_INFINITY
  #hasOtherWorkers = false
  /** Whether there is a change that has not been announced: a pass may fail after it has found one. */
  #hasChanged = false
  #onChange: () => void = () => {}

  constructor(options: ShardLeaseOptions) {
    this.#options = options
    this.#monotonic = options.monotonic ?? (() => performance.now())
    this.#watch = new Watch(options.beatMs * 2, this.#monotonic)
    this.#loop = new Loop({
      name: 'shard leases',
      everyMs: options.beatMs,
      log: options.log,
      runOnce: () => this.runOnce().then(() => undefined),
    })
  }

  /**
   * Sets the function to call when everything must be read again: shards were gained or lost, could not be fired for a while,
   * or a node died, which may have written rows without announcing them.
   */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** Returns a shard that this node may fire in; undefined if it has not beaten recently enough. */
  get(shard: number): LeasedShard | undefined {
    return this.#isSilent ? undefined : this.#leased.get(shard)
  }

  get #isSilent(): boolean {
    return this.#monotonic() - this.#beatenAt > this.#options.takeoverMs
  }

  /** Whether another node has a worker that could start due runs for which this node has no room. */
  get hasOtherWorkers(): boolean {
    return this.#hasOtherWorkers
  }

  get ids(): number[] {
    return [...this.#leased.keys()]
  }

  /** Drops shards that turned out to have another owner. */
  forget(ids: readonly number[]): void {
    for (const id of ids) this.#leased.delete(id)
    this.#onChange()
  }

  async start(): Promise<void> {
    await this.runOnce()
    this.#loop.start()
  }

  /** Releases every shard, so that another node takes it at once instead of after the takeover time. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const ids = this.ids
    this.#leased.clear()
    await this.#options.db.run(releaseShards(this.#options.nodeId, ids))
  }

  /** One pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<void> {
    const { db, nodeId, log } = this.#options
    const before = this.ids.length
    const beaten = await db.run(beatShards(this.#options, [...this.#leased.values()]))
    const lost = this.#forgetLost(beaten)
    const lapsed = await this.#noteLapse(beaten)
    if (before > 0 && this.#isSilent) this.#hasChanged = true
    this.#beatenAt = this.#monotonic()
    // The order matters: a node registers before it owns anything, so an owner that is not in the later list is dead.
    const shards = await db.run(readShards())
    const nodes = await db.run(livingNodes())
    this.#hasOtherWorkers = nodes.some(({ id, roles }) => id !== nodeId && roles.includes('worker'))
    for (const { id, owner, fence, beat } of shards) this.#watch.see(String(id), `${owner}/${fence}/${beat}`)
    this.#watch.endPass()

    const schedulers = this.#countSchedulers(shards, nodes)
    const share = Math.ceil(SHARD_COUNT / schedulers)
    for (const id of this.ids.slice(share)) this.#leased.delete(id)
    const living = new Set(nodes.map(({ id }) => id))
    const died = [...this.#living].filter((id) => !living.has(id)).length
    this.#living = living
    if (died > 0) this.#hasChanged = true
    const free = shards.filter((shard) => this.#isFree(shard, living))
    const taken = await this.#take(free.slice(0, share - this.ids.length))
    const released = await this.#release(shards)
    if (lost + lapsed + released + taken > 0)
      log.debug(
        { shards: this.ids.length, before, lost, lapsed, released, taken, schedulers },
        'shards changed owner',
      )
    if (!this.#hasChanged) return
    this.#hasChanged = false
    this.#onChange()
  }

  #forgetLost(mine: readonly { id: number; fence: number }[]): number {
    const fences = new Map(mine.map(({ id, fence }) => [id, fence]))
    const lost = [...this.#leased.values()].filter(({ id, fence }) => fences.get(id) !== fence)
    for (const { id } of lost) this.#leased.delete(id)
    if (lost.length > 0) this.#hasChanged = true
    return lost.length
  }

  /** Records unwatched periods in which this node slept or could not reach the database although its shards are still its own. */
  async #noteLapse(beaten: readonly BeatenShard[]): Promise<number> {
    // The beat that ended a silence may have been stored although its reply was lost.
    const isLapsed = ({ now, watchedUntil }: BeatenShard) => now - watchedUntil > this.#options.takeoverMs
    const lapsed = beaten.filter((shard) => this.#isSilent || isLapsed(shard))
    await this.#keep(lapsed)
    return lapsed.length
  }

  /** Keeps shards together with their unwatched periods, including the one that has just ended. */
  async #keep(shards: readonly Pick<LeasedShard, 'id' | 'fence'>[]): Promise<void> {
    if (shards.length === 0) return
    this.#hasChanged = true
    // If the query fails, this node does not lease the shards, and the next pass takes them again.
    for (const { id } of shards) this.#leased.delete(id)
    const remembered = await this.#options.db.run(unwatchedOf(shards.map(({ id }) => id)))
    for (const { id, fence } of shards) {
      const unwatched = remembered.filter(({ shard }) => shard === id)
      this.#leased.set(id, { id, fence, unwatched })
    }
  }

  /**
   * Releases shards that the tables assign to this node but that it does not lease: those beyond its share, and those whose
   * release failed before. No other node would take them while this one beats.
   */
  async #release(shards: readonly ShardRow[]): Promise<number> {
    const { db, nodeId } = this.#options
    const ids = shards
      .filter(({ id, owner }) => owner === nodeId && !this.#leased.has(id))
      .map(({ id }) => id)
    if (ids.length === 0) return 0
    this.#hasChanged = true
    await db.run(releaseShards(nodeId, ids))
    return ids.length
  }

  async #take(wanted: readonly ShardRow[]): Promise<number> {
    if (wanted.length === 0) return 0
    const taken = await this.#options.db.run(takeShards(this.#options, wanted))
    await this.#keep(taken)
    return taken.length
  }

  /**
   * A shard that the tables assign to this node but that it does not lease was taken or released without a reply; it counts as
   * free.
   */
  #isFree({ id, owner }: ShardRow, living: ReadonlySet<string>): boolean {
    if (owner === null || !living.has(owner)) return true
    return !this.#leased.has(id) && (owner === this.#options.nodeId || this.#isQuiet(id))
  }

  #isQuiet(shard: number): boolean {
    return this.#watch.quietMs(String(shard)) >= this.#options.takeoverMs
  }

  /**
   * Counts the schedulers that share the shards. A crashed node is declared dead only after its lease; its shards reveal it
   * much sooner, and it must not be counted again once it has no shards left.
   */
  #countSchedulers(shards: readonly ShardRow[], nodes: readonly LivingNode[]): number {
    const { nodeId } = this.#options
    const candidates = nodes.filter(({ id, roles }) => roles.includes('scheduler') && id !== nodeId)
    for (const { id, beat } of candidates) {
      const owned = shards.filter(({ owner }) => owner === id)
      if (owned.length > 0 && owned.every((shard) => this.#isQuiet(shard.id))) this.#suspects.set(id, beat)
      else if (this.#suspects.get(id) !== beat) this.#suspects.delete(id)
    }
    return 1 + candidates.filter(({ id }) => !this.#suspects.has(id)).length
  }
}
