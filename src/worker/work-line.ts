import { DEFAULT_LANES } from '../core/run/lane.ts'
import type { TargetLine } from '../outgoing/targets/target-line.ts'
import { FairQueue } from '../runtime/fair-queue.ts'
import { Throughput } from '../runtime/throughput.ts'
import type { Line } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'

/** How many may be in progress, and how fast they come to an end. */
export interface Slots {
  /** Runs that could start now, were nothing in hand. */
  readonly free: number
  readonly perSecond: number
  begin(): void
}

/** The slots of this machine. */
export class LocalSlots implements Slots {
  readonly #concurrency: number
  readonly #throughput: Throughput | null
  #busy = 0

  /** Without `takesAhead` nothing is taken on for slots that will be free soon. */
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
/** A line whose pace drops for less than this keeps what it has in hand. */
const HESITATION_MS = 500

/**
 * What a worker has in hand of one line: runs that wait for a slot, and room that was promised. What is in progress is counted
 * by the slots.
 */
export class WorkLine {
  readonly line: Line
  readonly slots: Slots
  /** The target's, when the line is one of calls. */
  readonly calls: TargetLine | null
  /** Runs that were claimed into a free slot: they start before the others in hand. */
  readonly #first: Work[] = []
  readonly #queue = new FairQueue<Work>(flowOf)
  /** Room for runs that are being claimed or fired. */
  reserved = 0
  /** Runs in progress. */
  underWay = 0
  /** Runs that were claimed from its side lanes. */
  pledged = 0
  /** Runs that were taken out of ready. */
  claimed = 0
  /** Runs may be waiting in side lanes: they were there first, so nothing is fired past them. */
  hasBacklog = false
  /** Something waits that is claimed into a free slot alone: the next one is kept for it. */
  isSlotKept = false
  #tooLongSince: number | undefined
  /** When its side lanes were last looked into. */
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

  /** Of the run that goes next. */
  get priority(): number {
    return (this.#first[0] ?? this.#queue.first)?.definition.priority ?? 0
  }

  /** Slots that a run could start in now. */
  get free(): number {
    return Math.max(0, this.slots.free - this.reserved - this.waiting)
  }

  /** Runs that could be taken on beyond that, of `most` at the line's own rate. */
  ahead(most: number): number {
    const allowed = this.allowedAhead(most)
    if (allowed === 0) return NO_CLAIM_AHEAD
    return Math.max(0, allowed - Math.max(0, this.reserved + this.waiting - this.slots.free))
  }

  allowedAhead(most: number): number {
    return Math.min(most, Math.floor(this.slots.perSecond))
  }

  /** Slots for what is claimed into none but a free one. */
  get places(): number {
    const isOneFree = this.slots.free > this.reserved + this.#first.length
    return Math.max(this.free, this.isSlotKept && isOneFree ? 1 : 0)
  }

  /** Whether what waits here is little enough that more should be on its way: it is gone in `seconds`, or when those in progress end. */
  isLow(seconds: number): boolean {
    return this.waiting <= Math.max(this.underWay, this.slots.perSecond * seconds)
  }

  /** Nothing is known of it that a new one would not know. */
  get isIdle(): boolean {
    return this.underWay + this.waiting + this.reserved === 0 && !this.hasBacklog && !this.isSlotKept
  }

  push(work: Work, where: 'first' | 'last'): void {
    if (where === 'first') this.#first.push(work)
    else this.#queue.push(work)
  }

  /** The next run that has a slot to start in. */
  next(): Work | undefined {
    const { free } = this.slots
    if (free > 0 && this.#first.length > 0) return this.#first.shift()
    return free > (this.isSlotKept ? 1 : 0) ? this.#queue.pop() : undefined
  }

  /** Whether more than so many have been waiting for some time. */
  isTooLong(most: number, now: number): boolean {
    if (this.waiting <= most) this.#tooLongSince = undefined
    else this.#tooLongSince ??= now
    return this.#tooLongSince !== undefined && now - this.#tooLongSince >= HESITATION_MS
  }

  /** Takes out what waits beyond so many. */
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
