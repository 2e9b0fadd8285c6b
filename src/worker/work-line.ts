import { DEFAULT_LANES } from '../core/run/lane.ts'
import type { TargetLine } from '../outgoing/targets/target-line.ts'
import { FairQueue } from '../runtime/fair-queue.ts'
import { Throughput } from '../runtime/throughput.ts'
import type { Line } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'

/** How many runs may be in progress, and how fast they end. */
export interface Slots {
  /** Runs that could start now if no other run were in hand. */
  readonly free: number
  readonly perSecond: number
  begin(): void
}

/** The slots of this machine. */
export class LocalSlots implements Slots {
  readonly #concurrency: number
  readonly #throughput: Throughput | null
  #busy = 0

  /** If `takesAhead` is false, no run is taken on for slots that will be free soon. */
  constructor(concurrency: number, { takesAhead = true }: { readonly takesAhead?: boolean } = {}) {
    this.#concurrency = concurrency
    this.#throughput = takesAhead ? new Throughput() : null
  }

  get free(): number {
    return Math.max(0, this.#concurrency - this.#busy)
  }

  get perSecond(): number {
    return this.#throughput?.perSecond() ?? 0
  }

  begin(): void {
    this.#busy++
  }

  end(): void {
    this.#busy--
    this.#throughput?.count()
  }
}

const NO_CLAIM_AHEAD = 0
/** A line whose pace drops for less than this keeps its runs. */
const HESITATION_MS = 500

/**
 * What a worker has in hand of one line: runs that wait for a slot, and reserved room. Runs in progress are counted by the
 * slots.
 */
export class WorkLine {
  readonly line: Line
  readonly slots: Slots
  /** The line of the target; null if the runs are not calls. */
  readonly calls: TargetLine | null
  /** Runs that were claimed into a free slot: they start before the others. */
  readonly #first: Work[] = []
  readonly #queue = new FairQueue<Work>(flowOf)
  /** Room for runs that are being claimed or fired. */
  reserved = 0
  /** Runs in progress. */
  underWay = 0
  /** Runs claimed from its side lanes so far. */
  pledged = 0
  /** Runs claimed from `ready` so far. */
  claimed = 0
  /** Whether runs may be waiting in side lanes: they were there first, so nothing is fired past them. */
  hasBacklog = false
  /** Whether a run waits that is claimed only into a free slot: the next free slot is kept for it. */
  isSlotKept = false
  #tooLongSince: number | undefined
  /** When its side lanes were last examined. */
  lookedAt = Number.NEGATIVE_INFINITY

  constructor(line: Line, slots: Slots, calls: TargetLine | null) {
    this.line = line
    this.slots = slots
    this.calls = calls
  }

  /** Runs that wait here for a slot. */
  get waiting(): number {
    return this.#first.length + this.#queue.size
  }

  /** Priority of the run that goes next. */
  get priority(): number {
    return (this.#first[0] ?? this.#queue.first)?.definition.priority ?? 0
  }

  /** Slots in which a run could start now. */
  get free(): number {
    return Math.max(0, this.slots.free - this.reserved - this.waiting)
  }

  /** Returns how many runs could be taken on beyond the free slots, at the line's own rate and within `most`. */
  ahead(most: number): number {
    const allowed = this.allowedAhead(most)
    if (allowed === 0) return NO_CLAIM_AHEAD
    return Math.max(0, allowed - Math.max(0, this.reserved + this.waiting - this.slots.free))
  }

  allowedAhead(most: number): number {
    return Math.min(most, Math.floor(this.slots.perSecond))
  }

  /** Slots for runs that are claimed only into free ones. */
  get places(): number {
    const isOneFree = this.slots.free > this.reserved + this.#first.length
    return Math.max(this.free, this.isSlotKept && isOneFree ? 1 : 0)
  }

  /**
   * Whether so few runs wait here that more should be claimed: they will be gone within `seconds`, or when the runs in progress
   * end.
   */
  isLow(seconds: number): boolean {
    return this.waiting <= Math.max(this.underWay, this.slots.perSecond * seconds)
  }

  /** Whether a new line would know as much as this one. */
  get isIdle(): boolean {
    return this.underWay + this.waiting + this.reserved === 0 && !this.hasBacklog && !this.isSlotKept
  }

  push(work: Work, where: 'first' | 'last'): void {
    if (where === 'first') this.#first.push(work)
    else this.#queue.push(work)
  }

  /** Removes and returns the next run that has a slot to start in. */
  next(): Work | undefined {
    const { free } = this.slots
    if (free > 0 && this.#first.length > 0) return this.#first.shift()
    return free > (this.isSlotKept ? 1 : 0) ? this.#queue.pop() : undefined
  }

  /** Whether more than `most` runs have been waiting for some time. */
  isTooLong(most: number, now: number): boolean {
    if (this.waiting <= most) this.#tooLongSince = undefined
    else this.#tooLongSince ??= now
    return this.#tooLongSince !== undefined && now - this.#tooLongSince >= HESITATION_MS
  }

  /** Removes and returns the runs that wait beyond the first `count`. */
  beyond(count: number): Work[] {
    if (this.waiting <= count) return []
    const all = this.clear()
    for (const work of all.slice(0, count)) this.#queue.push(work)
    return all.slice(count)
  }

  remove(runId: string): Work | undefined {
    const all = this.clear()
    const index = all.findIndex((work) => work.runId === runId)
    const [removed] = index < 0 ? [] : all.splice(index, 1)
    for (const work of all) this.#queue.push(work)
    return removed
  }

  clear(): Work[] {
    return [...this.#first.splice(0), ...this.#queue.clear()]
  }

  *[Symbol.iterator](): Iterator<Work> {
    yield* this.#first
    yield* this.#queue
  }
}

const flowOf = ({ taskId, kind, lane, definition: { projectId, priority, schedule } }: Work) => ({
  priority,
  project: projectId,
  lane: lane ?? DEFAULT_LANES.open,
  task: schedule.type === 'once' && kind !== 'manual' ? '' : taskId,
})
