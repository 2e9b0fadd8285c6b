/**
 * The room of a worker for the scheduler of the same process, which fires due runs directly into it. There is none while
 * earlier runs of the line wait in `ready`, so that no run overtakes another.
 */
import type { KeptDefinition } from '../core/task/task.ts'
import type { Line, LocalWorker, ReservedWork, Room } from '../transport/local-worker.ts'
import type { Capacity } from './capacity.ts'
import type { Claiming } from './claiming.ts'
import type { ServedLanes } from './served-lanes.ts'

/** The parts of the worker that room depends on. */
export interface LocalRoomOptions {
  readonly id: string
  readonly capacity: Capacity
  readonly claiming: Pick<Claiming, 'hasBacklog'>
  readonly lanes: ServedLanes
  /** Whether the worker takes on runs: it is neither stopping nor suspended. */
  isOpen(): boolean
  /** Called when runs were taken on. */
  fillPlaces(): void
  /** Called when runs may wait in `ready`. */
  pull(): void
  /** Reports that a statement that may have given this worker runs failed without a reply. */
  doubt(): void
}

/** Runs are taken on ahead only if there is room for at least this fraction of a second's work. */
const LEAST_PART_AHEAD = 16
const NO_ROOM: Room = { free: 0, ahead: 0 }
/** A worker that ends this many runs per second soon has a slot free, and then finds out what still waits in `ready`. */
const BRISK_PER_SECOND = 20

export class LocalRoom implements LocalWorker {
  readonly #options: LocalRoomOptions

  constructor(options: LocalRoomOptions) {
    this.#options = options
  }

  get id(): string {
    return this.#options.id
  }

  serves(lane: number): 'ahead' | 'free' | undefined {
    return this.#options.lanes.serves(lane)
  }

  lineOf(definition: KeptDefinition): Line {
    return this.#options.capacity.lineOf(definition)
  }

  room(ref: Line): number {
    if (this.#options.claiming.hasBacklog || !this.#options.isOpen()) return 0
    const line = this.#options.capacity.of(ref)
    if (line.hasBacklog) return 0
    // If every slot is taken and most of a second's work is in hand, a few more runs gain nothing now, and firing them a few at
    // a time costs twice as much as firing them together.
    const free = this.#options.capacity.free(line)
    const ahead = this.#options.capacity.ahead(line)
    const isWorthwhile = free > 0 || ahead >= this.#options.capacity.allowedAhead(line) / LEAST_PART_AHEAD
    return isWorthwhile ? free + ahead : 0
  }

  get isBacklogged(): boolean {
    return this.#options.claiming.hasBacklog
  }

  isReadyBehind(ref: Line): boolean {
    const line = this.#options.capacity.of(ref)
    if (!this.#options.claiming.hasBacklog && !line.hasBacklog) return false
    // With no slot free the worker does not look: other workers may have claimed everything long before one of its runs ends.
    return this.#options.capacity.free(line) > 0 || line.slots.perSecond >= BRISK_PER_SECOND
  }

  pace(ref: Line): number {
    return this.#options.capacity.of(ref).slots.perSecond
  }

  claimed(ref: Line): number {
    return this.#options.capacity.of(ref).claimed
  }

  reserve(ref: Line, wanted: number): Room {
    if (this.#options.claiming.hasBacklog || !this.#options.isOpen()) return NO_ROOM
    const line = this.#options.capacity.of(ref)
    if (line.hasBacklog) return NO_ROOM
    const free = Math.min(wanted, this.#options.capacity.free(line))
    const ahead = Math.min(wanted - free, this.#options.capacity.ahead(line))
    line.reserved += free + ahead
    return { free, ahead }
  }

  release(ref: Line, count: number): void {
    const line = this.#options.capacity.of(ref)
    line.reserved -= count
    if ((this.#options.claiming.hasBacklog || line.hasBacklog) && count > 0) this.#options.pull()
    this.#options.capacity.forgetIfIdle(line)
  }

  begin(runs: readonly ReservedWork[]): void {
    for (const { work, line: ref } of runs) {
      const line = this.#options.capacity.of(ref)
      line.reserved--
      this.#options.capacity.takeOn(work, line, 'last')
    }
    this.#options.fillPlaces()
  }

  putAside(ref: Line): void {
    this.#options.capacity.of(ref).hasBacklog = true
    this.#options.lanes.forget()
    this.#options.pull()
  }

  doubt(): void {
    this.#options.doubt()
  }
}
