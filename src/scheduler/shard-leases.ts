/**
 * Which slices of the due index this node watches. Every pass beats for the shards it has, counts who
 * else is there, gives up what exceeds its share and takes what is free or whose owner has gone quiet.
 * There is no leader: each node does only what concerns itself, and the conditional take lets exactly one
 * of several win. How long an owner has been quiet is counted on this node's own monotonic clock, and
 * only while it can read, so a restart of the database takes no shard from anybody.
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

/** A shard in this node's care. */
export interface HeldShard {
  readonly id: number
  readonly fence: number
  /** Stretches during which nobody watched it: what came due then and is still there was missed, also by nodes that had it before. */
  readonly unwatched: readonly Unwatched[]
}

export class ShardLeases implements Service {
  readonly #options: ShardLeaseOptions
  readonly #loop: Loop
  readonly #watch: Watch
  readonly #held = new Map<number, HeldShard>()
  /** Nodes whose shards all went quiet, with the beat they had then: they count for nothing until it changes. */
  readonly #suspects = new Map<string, number>()
  readonly #monotonic: () => number
  #living: ReadonlySet<string> = new Set()
  #beatenAt = Number.NEGATIVE_INFINITY
  #hasOtherWorkers = false
  /** Something has changed and was not told yet: a pass may fail after it has found that out. */
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
   * Called whenever there is reason to read everything again: shards came or went, could not be fired in for a
   * while, or a node died, which may have written something and not lived to tell.
   */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  /** A shard that this node may fire in: it has said of late that it is watching. */
  get(shard: number): HeldShard | undefined {
    return this.#isSilent ? undefined : this.#held.get(shard)
  }

  get #isSilent(): boolean {
    return this.#monotonic() - this.#beatenAt > this.#options.takeoverMs
  }

  /** Whether another node could start what is due here, if this one has no room. */
  get hasOtherWorkers(): boolean {
    return this.#hasOtherWorkers
  }

  get ids(): number[] {
    return [...this.#held.keys()]
  }

  /** Gives up shards that turned out to have another owner. */
  forget(ids: readonly number[]): void {
    for (const id of ids) this.#held.delete(id)
    this.#onChange()
  }

  async start(): Promise<void> {
    await this.runOnce()
    this.#loop.start()
  }

  /** Gives every shard up, so that another node takes it at once instead of after a silence. */
  async stop(): Promise<void> {
    await this.#loop.stop()
    const ids = this.ids
    this.#held.clear()
    await this.#options.db.run(releaseShards(this.#options.nodeId, ids))
  }

  /** One pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<void> {
    const { db, nodeId, log } = this.#options
    const before = this.ids.length
    const beaten = await db.run(beatShards(this.#options, [...this.#held.values()]))
    const lost = this.#forgetLost(beaten)
    const lapsed = await this.#noteLapse(beaten)
    if (before > 0 && this.#isSilent) this.#hasChanged = true
    this.#beatenAt = this.#monotonic()
    // In this order: a node is there before it owns anything, so an owner that is not among them is dead.
    const shards = await db.run(readShards())
    const nodes = await db.run(livingNodes())
    this.#hasOtherWorkers = nodes.some(({ id, roles }) => id !== nodeId && roles.includes('worker'))
    for (const { id, owner, fence, beat } of shards) this.#watch.see(String(id), `${owner}/${fence}/${beat}`)
    this.#watch.endPass()

    const schedulers = this.#countSchedulers(shards, nodes)
    const share = Math.ceil(SHARD_COUNT / schedulers)
    for (const id of this.ids.slice(share)) this.#held.delete(id)
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
    const lost = [...this.#held.values()].filter(({ id, fence }) => fences.get(id) !== fence)
    for (const { id } of lost) this.#held.delete(id)
    if (lost.length > 0) this.#hasChanged = true
    return lost.length
  }

  /** Nobody watched while this node slept or could not reach the database, though its shards are still its own. */
  async #noteLapse(beaten: readonly BeatenShard[]): Promise<number> {
    // After a silence the beat that ended it may have been stored without its answer having been heard.
    const isLapsed = ({ now, watchedUntil }: BeatenShard) => now - watchedUntil > this.#options.takeoverMs
    const lapsed = beaten.filter((shard) => this.#isSilent || isLapsed(shard))
    await this.#hold(lapsed)
    return lapsed.length
  }

  /** Keeps shards with the stretches in which nobody watched them, the one that has just ended included. */
  async #hold(shards: readonly Pick<HeldShard, 'id' | 'fence'>[]): Promise<void> {
    if (shards.length === 0) return
    this.#hasChanged = true
    // Should this fail they are not in this node's care, and the next pass takes them anew.
    for (const { id } of shards) this.#held.delete(id)
    const remembered = await this.#options.db.run(unwatchedOf(shards.map(({ id }) => id)))
    for (const { id, fence } of shards) {
      const unwatched = remembered.filter(({ shard }) => shard === id)
      this.#held.set(id, { id, fence, unwatched })
    }
  }

  /**
   * Gives up what is in this node's name and not in its care: what exceeds its share, and what it tried to give up
   * before. While the node beats nobody else would take it.
   */
  async #release(shards: readonly ShardRow[]): Promise<number> {
    const { db, nodeId } = this.#options
    const ids = shards.filter(({ id, owner }) => owner === nodeId && !this.#held.has(id)).map(({ id }) => id)
    if (ids.length === 0) return 0
    this.#hasChanged = true
    await db.run(releaseShards(nodeId, ids))
    return ids.length
  }

  async #take(wanted: readonly ShardRow[]): Promise<number> {
    if (wanted.length === 0) return 0
    const taken = await this.#options.db.run(takeShards(this.#options, wanted))
    await this.#hold(taken)
    return taken.length
  }

  /** One in this node's name that it does not hold was taken or given up without an answer: it is free too. */
  #isFree({ id, owner }: ShardRow, living: ReadonlySet<string>): boolean {
    if (owner === null || !living.has(owner)) return true
    return !this.#held.has(id) && (owner === this.#options.nodeId || this.#isQuiet(id))
  }

  #isQuiet(shard: number): boolean {
    return this.#watch.quietMs(String(shard)) >= this.#options.takeoverMs
  }

  /**
   * Among how many the shards are to be shared. A node that crashed is declared dead only after its lease;
   * its shards give it away much sooner, and it must not be counted again once it has none left.
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
