import { setMaxListeners } from 'node:events'
import type { LoopOptions } from './loop.ts'
import { LoopService } from './loop-service.ts'
import { makingWay, type Placed } from './making-way.ts'

/** If others wait for a slot, an item keeps its own for this long. */
const TURN_MS = 5_000
/** The part of the slots that change hands in one pass, so that each item gets the whole of its turn. */
const TURNING_PART = 1 / 5

/** Work that one node at a time performs. Every write about it compares the fence. */
export interface Leased {
  readonly id: string
  readonly projectId: string
  readonly fence: number
}

/** An item that is due and that no node works on. */
export type Waiting = Pick<Leased, 'id' | 'projectId'>

/** Which items to look for. */
export interface WaitingQuery {
  readonly limit: number
  /** The projects of the items in progress on this node, once for each item. Projects with few of them come first. */
  readonly inProgress: readonly string[]
}

/** What interrupts work on an item. */
export interface Interruptions {
  /** Fires when the node stops. */
  readonly stopping: AbortSignal
  /** Fires when the item has had its turn and others wait: the work ends where it can be resumed at little cost. */
  readonly turnOver: AbortSignal
}

export interface LeasedWorkOptions extends Omit<LoopOptions, 'runOnce'> {
  /** Maximum number of items that a node works on at once. */
  readonly mostLeased: number
  /** Maximum number of items to lease in one pass, so that other nodes get some too. */
  readonly mostAtOnce?: number
}

interface InProgress extends Placed {
  readonly turn: AbortController
  readonly ended: Promise<void>
}

/**
 * Leases items that no node works on, and works on them concurrently until each is done or lost or the node stops. It can run
 * on every node, because an item is leased to one node at a time. If an item fails, its lease expires, and the node that leases
 * it next continues. If there are more items than slots on the node, they take turns, and projects share the slots equally.
 */
export abstract class LeasedWork<Item extends Leased> extends LoopService {
  readonly #options: LeasedWorkOptions
  readonly #stopping = new AbortController()
  /** By id and fence, because a node may lose a lease and get another one for the same item; the longest in progress first. */
  readonly #inProgress = new Map<string, InProgress>()

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
    await Promise.all([...this.#inProgress.values()].map(({ ended }) => ended))
  }

  /** Leases items that no node works on. At the limit, ends the turns of some items if others wait. */
  async runOnce(): Promise<number | undefined> {
    const { mostLeased, mostAtOnce = mostLeased } = this.#options
    const limit = Math.min(mostAtOnce, mostLeased - this.#inProgress.size)
    if (limit <= 0) {
      await this.#endTurns()
      return undefined
    }
    const waiting = await this.waiting({ limit, inProgress: projectsOf([...this.#inProgress.values()]) })
    const leased = waiting.length === 0 ? [] : await this.lease(waiting)
    for (const item of leased) this.#begin(item)
    return leased.length === limit ? 0 : undefined
  }

  /** The items whose turn goes on. */
  get #staying(): readonly InProgress[] {
    return [...this.#inProgress.values()].filter(({ turn }) => !turn.signal.aborted)
  }

  /** The slots become free when the work in hand is done, and the following passes lease what waits. */
  async #endTurns(): Promise<void> {
    const staying = this.#staying
    const limit = Math.ceil(this.#options.mostLeased * TURNING_PART)
    // What waits longest gets the slots that are about to become free.
    const promised = this.#inProgress.size - staying.length
    if (promised >= limit) return
    const waiting = await this.waiting({ limit, inProgress: projectsOf(staying) })
    const before = performance.now() - TURN_MS
    for (const { turn } of makingWay({ placed: staying, waiting: waiting.slice(promised), before }))
      turn.abort()
  }

  #begin(item: Item): void {
    const { log, name } = this.#options
    const key = `${item.id} ${item.fence}`
    const turn = new AbortController()
    const since = performance.now()
    const ended = this.work(item, { stopping: this.#stopping.signal, turnOver: turn.signal })
      .catch((error: unknown) =>
        log.warn({ err: error, id: item.id }, `${name}: interrupted; another node will continue`),
      )
      .finally(() => this.#inProgress.delete(key))
    this.#inProgress.set(key, { projectId: item.projectId, since, turn, ended })
  }

  /** Returns items that are due and not leased. Projects take turns, and so do the items of a project. */
  protected abstract waiting(query: WaitingQuery): Promise<readonly Waiting[]>

  /** Leases those of the given items that no node has leased meanwhile. */
  protected abstract lease(waiting: readonly Waiting[]): Promise<readonly Item[]>

  /** Works on an item until it is done, lost or interrupted; if it is interrupted, its lease is released. */
  protected abstract work(item: Item, interruptions: Interruptions): Promise<void>
}

const projectsOf = (items: readonly Placed[]) => items.map(({ projectId }) => projectId)
