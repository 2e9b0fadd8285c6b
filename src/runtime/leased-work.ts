import { setMaxListeners } from 'node:events'
import type { LoopOptions } from './loop.ts'
import { LoopService } from './loop-service.ts'

/** Work that one node at a time performs. Every write about it compares the fence. */
export interface Leased {
  readonly id: string
  readonly fence: number
}

export interface LeasedWorkOptions extends Omit<LoopOptions, 'runOnce'> {
  /** Maximum number of items that a node works on at once. */
  readonly mostLeased: number
  /** Maximum number of items to lease in one pass, so that other nodes get some too. */
  readonly mostAtOnce?: number
}

/**
 * Leases items that no node works on, and works on them concurrently until each is done or lost or the node stops. It can run
 * on every node, because an item is leased to one node at a time. If an item fails, its lease expires, and the node that leases
 * it next continues.
 */
export abstract class LeasedWork<Item extends Leased> extends LoopService {
  readonly #options: LeasedWorkOptions
  readonly #stopping = new AbortController()
  /** By id and fence, because a node may lose a lease and get another one for the same item. */
  readonly #inProgress = new Map<string, Promise<void>>()

  protected constructor(options: LeasedWorkOptions) {
    super(options)
    this.#options = options
    // Every item in progress adds a listener: a large number of listeners is not a leak.
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Waits for the items in progress, so that the next node finds them in a consistent state. */
  override async stop(): Promise<void> {
    this.#stopping.abort()
    await super.stop()
    await Promise.all(this.#inProgress.values())
  }

  /** Leases items that no node works on. */
  async runOnce(): Promise<number | undefined> {
    const { mostLeased, mostAtOnce = mostLeased } = this.#options
    const limit = Math.min(mostAtOnce, mostLeased - this.#inProgress.size)
    if (limit <= 0) return undefined
    const leased = await this.lease(limit)
    for (const item of leased) this.#begin(item)
    return leased.length === limit ? 0 : undefined
  }

  #begin(item: Item): void {
    const { log, name } = this.#options
    const key = `${item.id} ${item.fence}`
    const ended = this.work(item, this.#stopping.signal)
      .catch((error: unknown) =>
        log.warn({ err: error, id: item.id }, `${name}: interrupted; another node will continue`),
      )
      .finally(() => this.#inProgress.delete(key))
    this.#inProgress.set(key, ended)
  }

  /** Leases at most `limit` items. */
  protected abstract lease(limit: number): Promise<readonly Item[]>

  /** Works on an item until it is done or lost, or until it has been given back because the node stops. */
  protected abstract work(item: Item, stopping: AbortSignal): Promise<void>
}
