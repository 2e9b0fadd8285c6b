/**
 * Which slices of the due index this node watches. Every pass beats for the shards it has, counts who
 * else is there, gives up what exceeds its share and takes what is free or whose owner has gone quiet.
 * There is no leader: each node does only what concerns itself, and the conditional take lets exactly one
 * of several win. How long an owner has been quiet is counted on this node's own monotonic clock, and
 * only while it can read, so a restart of the database takes no shard from anybody.
 */
import { SHARD_COUNT } from '../core/ids.ts'
import type { Logger } from '../runtime/logger.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import { Watch } from '../runtime/watch.ts'
import type { Database } from '../store/database.ts'
import { livingNodes } from '../store/nodes.ts'
import { beatShards, readShards, releaseShards, type ShardRow, takeShards } from '../store/shards.ts'

export interface ShardLeaseOptions {
  readonly nodeId: string
  readonly db: Database
  readonly log: Logger
  readonly beatMs: number
  readonly takeoverMs: number
}

/** A shard in this node's care. */
export interface HeldShard {
  readonly id: number
  readonly fence: number
  /** The stretch during which nobody watched it before this node took it. */
  readonly unwatched: { readonly from: number; readonly to: number }
}

export class ShardLeases implements Service {
  readonly #options: ShardLeaseOptions
  readonly #loop: Loop
  readonly #watch: Watch
  readonly #held = new Map<number, HeldShard>()
  #onChange: () => void = () => {}
  #now: () => number

  constructor(options: ShardLeaseOptions, now: () => number) {
    this.#options = options
    this.#now = now
    this.#watch = new Watch(options.beatMs * 2)
    this.#loop = new Loop({
      name: 'shard leases',
      everyMs: options.beatMs,
      log: options.log,
      runOnce: () => this.runOnce().then(() => undefined),
    })
  }

  /** Called whenever shards came or went. */
  onChange(listener: () => void): void {
    this.#onChange = listener
  }

  get(shard: number): HeldShard | undefined {
    return this.#held.get(shard)
  }

  get ids(): number[] {
    return [...this.#held.keys()]
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

  /** One pass. */
  async runOnce(): Promise<void> {
    const { db, nodeId, takeoverMs, log } = this.#options
    const before = this.ids.length
    const mine = new Map((await db.run(beatShards(nodeId))).map(({ id, fence }) => [id, fence]))
    let changed = false
    for (const [id, { fence }] of this.#held) {
      if (mine.get(id) === fence) continue
      this.#held.delete(id)
      changed = true
    }

    const [shards, nodes] = await Promise.all([db.run(readShards()), db.run(livingNodes())])
    for (const { id, owner, fence, beat } of shards) this.#watch.see(String(id), `${owner}/${fence}/${beat}`)
    this.#watch.endPass()
    const schedulers = nodes.filter(({ roles }) => roles.includes('scheduler')).length
    const share = Math.ceil(SHARD_COUNT / Math.max(1, schedulers))

    const surplus = this.ids.slice(share)
    if (surplus.length > 0) {
      for (const id of surplus) this.#held.delete(id)
      await db.run(releaseShards(nodeId, surplus))
      changed = true
    }
    const free = shards.filter((shard) => this.#isFree(shard, takeoverMs)).slice(0, share - this.ids.length)
    if (free.length > 0) {
      for (const { id, fence, watchedUntil } of await db.run(takeShards(nodeId, free))) {
        this.#held.set(id, { id, fence, unwatched: { from: watchedUntil, to: this.#now() } })
        changed = true
      }
    }
    if (!changed) return
    log.info({ shards: this.ids.length, before, schedulers }, 'shards changed hands')
    this.#onChange()
  }

  #isFree({ id, owner }: ShardRow, takeoverMs: number): boolean {
    if (owner === null) return true
    if (owner === this.#options.nodeId)
      return !this.#held.has(id) && this.#watch.quietMs(String(id)) >= takeoverMs
    return this.#watch.quietMs(String(id)) >= takeoverMs
  }
}
