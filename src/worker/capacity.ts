import { callTargetOf } from '../core/action/call-target.ts'
import type { ClaimedRun } from '../core/run/claim.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { TargetBook } from '../outgoing/targets/target-book.ts'
import { type Line, LOCAL, PROGRAMS } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'
import type { Attempt } from './attempt.ts'
import { LocalSlots, WorkLine } from './work-line.ts'

export interface CapacityOptions {
  /** Runs performed at once on this machine; calls are bounded by `maxCalls`. */
  readonly concurrency: number
  /** Programs that run at once. */
  readonly programs: number
  /** Calls under way at once. */
  readonly maxCalls: number
  /** However fast it works, a worker takes on no more than this ahead. */
  readonly claimAhead: number
  readonly targets: TargetBook
  /** The mail server of a project, as a target; null where there is none. */
  smtpTargetOf(projectId: string): string | null
  /** So many outcomes wait to be written that nothing new may be taken on. */
  isFull(): boolean
}

/** A run that was claimed, but whose definition is not here yet. */
export interface Claimed {
  readonly run: ClaimedRun
  /** The line that room was reserved in for it, where that was known. */
  readonly line: WorkLine | null
}

/**
 * What a worker has in hand, line by line: runs that it performs, runs that wait for a slot, and room that was promised. It says
 * how much more may be taken on, at the rate at which each line gets through its work.
 */
export class Capacity {
  readonly #options: CapacityOptions
  /** Slots of lines that are no target's. */
  readonly #slots = new Map<string, LocalSlots>()
  readonly local: WorkLine
  readonly programs: WorkLine
  readonly #lines = new Map<string, WorkLine>()
  readonly #refs = new Map<string, Map<string, Line>>()
  /** Lines in which runs wait for a slot. */
  readonly #waiting = new Set<WorkLine>()
  readonly attempts = new Map<string, Attempt>()
  /** Claimed, but their definitions are not here yet. */
  readonly claimed: Claimed[] = []
  #callsUnderWay = 0
  /** A line found no call left for it, though its target has room. */
  #isShort = false

  constructor(options: CapacityOptions) {
    this.#options = options
    this.local = this.#ownLine(LOCAL, new LocalSlots(options.concurrency))
    this.programs = this.#ownLine(PROGRAMS, new LocalSlots(options.programs, { takesAhead: false }))
  }

  #ownLine(line: Line, slots: LocalSlots): WorkLine {
    const made = new WorkLine(line, slots, null)
    this.#slots.set(line.id, slots)
    this.#lines.set(line.id, made)
    return made
  }

  /** The line that a run needs room in. */
  lineOf({ action, projectId, circuitBreaker }: KeptDefinition): Line {
    if (action.type === 'exec') return PROGRAMS
    const target = callTargetOf(action, () => this.#options.smtpTargetOf(projectId))
    if (target === null) return LOCAL
    return this.#refOf(projectId, circuitBreaker !== false ? target : `${target}${ALWAYS}`)
  }

  /** Every run asks for its line, so the text of its id is put together once. */
  #refOf(projectId: string, name: string): Line {
    const ofProject = this.#refs.get(projectId) ?? new Map<string, Line>()
    const known = ofProject.get(name)
    if (known) return known
    if (this.#refs.size > MAX_REFS || ofProject.size > MAX_REFS) this.#refs.clear()
    const line = { id: `${projectId} ${name}`, projectId, name }
    this.#refs.set(projectId, ofProject.set(name, line))
    return line
  }

  /** What is in hand of a line. */
  of(line: Line): WorkLine {
    const known = this.#lines.get(line.id)
    if (known) return known
    const { projectId, name } = line
    const noCircuit = name.endsWith(ALWAYS)
    const target = noCircuit ? name.slice(0, -ALWAYS.length) : name
    const calls = this.#options.targets.line(projectId, target, { noCircuit })
    const made = new WorkLine(line, calls, calls)
    this.#lines.set(line.id, made)
    return made
  }

  /** The line of that name, if anything is known of it. */
  known(id: string): WorkLine | undefined {
    return this.#lines.get(id)
  }

  /** Calls that could begin now, all targets together. */
  get freeCalls(): number {
    return this.#isFull ? 0 : Math.max(0, this.#options.maxCalls - this.#callsUnderWay)
  }

  /** Slots of a line that a run could start in now. */
  free(line: WorkLine): number {
    if (this.#isFull) return 0
    if (!line.calls) return line.free
    return Math.max(0, Math.min(line.free, this.#callsFor(line) - line.reserved - line.waiting))
  }

  /**
   * How many more calls may begin in a line. The last quarter is shared out ever more sparingly the less is left of it: lines that have
   * few calls under way get them, so that many lines that hang do not use up what the others need.
   */
  #callsFor(line: WorkLine): number {
    const { maxCalls } = this.#options
    const left = maxCalls - this.#callsUnderWay
    const scarce = maxCalls * SCARCE_SHARE
    const most = Math.ceil(MOST_WHEN_SCARCE * (left / scarce) ** 2)
    return Math.max(0, Math.min(left, Math.max(Math.ceil(left - scarce), most - line.underWay)))
  }

  /** Runs of a line that could start now, whatever is in hand. */
  startable(line: WorkLine): number {
    return line.calls ? Math.min(line.slots.free, this.#callsFor(line)) : line.slots.free
  }

  /** Runs of a line that could be taken on beyond that: what it gets through in `seconds`. */
  ahead(line: WorkLine, seconds = 1): number {
    if (this.#isFull) return 0
    const most = this.#options.claimAhead - this.#shortOf(line)
    return line.ahead(seconds === 1 ? most : Math.min(most, Math.ceil(line.slots.perSecond * seconds)))
  }

  /** Nothing is taken on ahead of calls that are not there. */
  #shortOf(line: WorkLine): number {
    return this.startable(line) < line.slots.free ? this.#options.claimAhead : 0
  }

  /** Slots of a line for what is claimed into none but a free one. */
  places(line: WorkLine): number {
    if (this.#isFull) return 0
    return line.calls ? Math.min(line.places, this.#callsFor(line)) : line.places
  }

  allowedAhead(line: WorkLine): number {
    return line.allowedAhead(this.#options.claimAhead - this.#shortOf(line))
  }

  get #isFull(): boolean {
    return this.#options.isFull()
  }

  /** Takes on a run. */
  takeOn(work: Work, line: WorkLine, where: 'first' | 'last'): void {
    line.push(work, where)
    this.#waiting.add(line)
  }

  /** The next run of a line that has a slot to start in; it has begun then. */
  next(line: WorkLine): Work | undefined {
    const isShort = line.calls !== null && line.waiting > 0 && this.#callsFor(line) === 0
    if (isShort) this.#isShort = true
    const work = isShort ? undefined : line.next()
    if (line.waiting === 0) this.#waiting.delete(line)
    if (!work) return undefined
    line.slots.begin()
    line.underWay++
    if (line.calls) this.#callsUnderWay++
    return work
  }

  /** A run of a line is no longer in progress. Whoever knows how a call ended tells its target. */
  ended(line: WorkLine): void {
    line.underWay--
    if (line.calls) this.#callsUnderWay--
    else this.#slots.get(line.line.id)?.end()
    this.forgetIfIdle(line)
  }

  /** Nothing is kept of lines that are not in use: there may be any number of targets. */
  forgetIfIdle(line: WorkLine): void {
    if (!this.#slots.has(line.line.id) && line.isIdle) this.#lines.delete(line.line.id)
  }

  /** Lines that a slot is kept in. */
  get keptLines(): readonly WorkLine[] {
    return [...this.#lines.values()].filter(({ isSlotKept }) => isSlotKept)
  }

  /** Whether something is known to wait in side lanes. */
  get hasBacklog(): boolean {
    for (const { hasBacklog, isSlotKept } of this.#lines.values()) if (hasBacklog || isSlotKept) return true
    return false
  }

  /** Forgets lines that were asked about and not used. */
  sweep(): void {
    for (const line of [...this.#lines.values()]) this.forgetIfIdle(line)
  }

  /** Lines in which runs wait for a slot. */
  get waitingLines(): readonly WorkLine[] {
    return [...this.#waiting]
  }

  /** The lines that may start something when a run of one has ended: that one alone, unless others wait for a call. By priority then. */
  linesAfter(line: WorkLine): readonly WorkLine[] {
    if (!this.#isShort || !line.calls) return [line]
    this.#isShort = false
    return this.waitingLines.toSorted((a, b) => a.priority - b.priority)
  }

  /** Takes out every run that waits for a slot. */
  clear(): Work[] {
    const all = this.waitingLines.flatMap((line) => line.clear())
    this.#waiting.clear()
    return all
  }

  /** Takes out runs of a line that wait beyond so many. */
  beyond(line: WorkLine, count: number): Work[] {
    const taken = line.beyond(count)
    if (line.waiting === 0) this.#waiting.delete(line)
    return taken
  }

  /** Takes out a run that waits for a slot. */
  remove(runId: string): Work | undefined {
    for (const line of this.#waiting) {
      for (const work of line)
        if (work.runId === runId) {
          line.remove(runId)
          if (line.waiting === 0) this.#waiting.delete(line)
          return work
        }
    }
    return undefined
  }

  holds(runId: string): boolean {
    if (this.attempts.has(runId) || this.claimed.some(({ run }) => run.runId === runId)) return true
    for (const line of this.#waiting) for (const work of line) if (work.runId === runId) return true
    return false
  }

  /** Runs that wait for a slot. */
  get waitingIds(): readonly string[] {
    return this.waitingLines.flatMap((line) => [...line].map(({ runId }) => runId))
  }

  /** Everything in this worker's name that it knows of. */
  get runIds(): readonly string[] {
    return [...this.attempts.keys(), ...this.claimed.map(({ run }) => run.runId), ...this.waitingIds]
  }
}

/** When less than this share of the calls is left, they are scarce. */
const SCARCE_SHARE = 0.25
/** Calls that a line may have under way at the moment they become scarce. With half of that left it is a quarter, with a tenth one. */
const MOST_WHEN_SCARCE = 128

const MAX_REFS = 10_000

/** What the name of a line ends with whose calls go out whatever the circuit of their target says. */
const ALWAYS = ' always'
