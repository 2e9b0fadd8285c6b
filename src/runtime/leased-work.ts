import { setMaxListeners } from 'node:events'
import type { LoopOptions } from './loop.ts'
import { LoopService } from './loop-service.ts'

/** Something that one node at a time works on. Everything that is written about it compares the fence. */
export interface Leased {
  readonly id: string
  readonly fence: number
}

export interface LeasedWorkOptions extends Omit<LoopOptions, 'runOnce'> {
  /** How much a node works on at once. */
  readonly mostHeld: number
  /** How much it takes on with one look: others want some too. */
  readonly mostAtOnce?: number
}

/**
 * Takes on what nobody works on, and works on each piece side by side with the others until it is done, lost or the
 * node stops. Safe on every node at once, for a piece is leased to one of them at a time. A piece that fails is left:
 * its lease runs out, and whoever finds it then goes on.
 */
export abstract class LeasedWork<Item extends Leased> extends LoopService {
  readonly #options: LeasedWorkOptions
  readonly #stopping = new AbortController()
  /** By lease: a node may lose one and take another on the same thing. */
  readonly #held = new Map<string, Promise<void>>()

  protected constructor(options: LeasedWorkOptions) {
    super(options)
    this.#options = options
    // Whatever is held listens, which is no leak.
    setMaxListeners(0, this.#stopping.signal)
  }

  /** What is under way is waited for, so that whoever goes on finds nothing half done. */
  override async stop(): Promise<void> {
    this.#stopping.abort()
    await super.stop()
    await Promise.all(this.#held.values())
  }

  /** Takes on what nobody works on. */
  async runOnce(): Promise<number | undefined> {
    const { mostHeld, mostAtOnce = mostHeld } = this.#options
    const limit = Math.min(mostAtOnce, mostHeld - this.#held.size)
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
      .finally(() => this.#held.delete(key))
    this.#held.set(key, ended)
  }

  /** Leases up to so many. */
  protected abstract lease(limit: number): Promise<readonly Item[]>

  /** Works on one until it is done or lost, or has been given back because the node stops. */
  protected abstract work(item: Item, stopping: AbortSignal): Promise<void>
}
