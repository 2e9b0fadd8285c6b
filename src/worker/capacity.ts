import { callTargetOf } from '../core/action/call-target.ts'
import type { ClaimedRun } from '../core/run/claim.ts'
import type { KeptDefinition } from '../core/task/task.ts'
import type { TargetBook } from '../outgoing/targets/target-book.ts'
import { type Line, LOCAL, PROGRAMS } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'
import type { Attempt } from './attempt.ts'
import { LocalSlots, WorkLine } from './work-line.ts'

export interface CapacityOptions {
  /** Maximum number of runs performed at once on this machine; calls are bounded by `maxCalls`. */
  readonly concurrency: number
  /** Maximum number of programs that run at once. */
  readonly programs: number
  /** Maximum number of calls in progress at once. */
  readonly maxCalls: number
  /** Maximum number of runs a worker takes on ahead, however fast it works. */
  readonly claimAhead: number
  readonly targets: TargetBook
  /** The mail server of a project, as a target; null if there is none. */
  smtpTargetOf(projectId: string): string | null
  /** Whether too many outcomes wait to be written for a new run to be taken on. */
  isFull(): boolean
}

/** A claimed run whose definition has not been loaded yet. */
export interface Claimed {
  readonly run: ClaimedRun
  /** The line in which room was reserved for the run, if it was known. */
  readonly line: WorkLine | null
}

/**
 * What a worker has in hand, line by line: runs that it performs, runs that wait for a slot, and reserved room. It computes how
 * many more runs each line may take on, from the rate at which the line works.
 */
export class Capacity {
  readonly #options: CapacityOptions
  /** Slots of the lines that do not belong to a target. */
  readonly #slots = new Map<string, LocalSlots>()
  readonly local: WorkLine
  readonly programs: WorkLine
  readonly #lines = new Map<string, WorkLine>()
  readonly #refs = new Map<string, Map<string, Line>>()
  /** Lines in which runs wait for a slot. */
  readonly #waiting = new Set<WorkLine>()
  readonly attempts = new Map<string, Attempt>()
  /** Claimed runs whose definitions have not been loaded yet. */
  readonly claimed: Claimed[] = []
  #callsUnderWay = 0
  /** Whether some line could start no call because `maxCalls` was reached, although its target has room. */
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

  /** Returns the line in which a run needs room. */
  lineOf({ action, projectId, circuitBreaker }: KeptDefinition): Line {
    if (action.type === 'exec') return PROGRAMS
    const target = callTargetOf(action, () => this.#options.smtpTargetOf(projectId))
    if (target === null) return LOCAL
    return this.#refOf(projectId, circuitBreaker !== false ? target : `${target}${ALWAYS}`)
  }

  /** Every run needs its line, so the text of the line's id is built only once. */
  #refOf(projectId: string, name: string): Line {
    const ofProject = this.#refs.get(projectId) ?? new Map<string, Line>()
    const known = ofProject.get(name)
    if (known) return known
    if (this.#refs.size > MAX_REFS || ofProject.size > MAX_REFS) this.#refs.clear()
    const line = { id: `${projectId} ${name}`, projectId, name }
    this.#refs.set(projectId, ofProject.set(name, line))
    return line
  }

  /** Returns the work in hand of a line. */
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

  /** Returns the line with that id, if one is known. */
  known(id: string): WorkLine | undefined {
    return this.#lines.get(id)
  }

  /** Calls that could begin now, all targets together. */
  get freeCalls(): number {
    return this.#isFull ? 0 : Math.max(0, this.#options.maxCalls - this.#callsUnderWay)
  }

  /** Number of slots of a line in which a run could start now. */
  free(line: WorkLine): number {
    if (this.#isFull) return 0
    if (!line.calls) return line.free
    return Math.max(0, Math.min(line.free, this.#callsFor(line) - line.reserved - line.waiting))
  }

  /**
   * Returns how many more calls a line may start. The last quarter of the calls is shared more sparingly the less is left:
   * lines with few calls in progress get them, so that many lines that hang do not use up the calls that others need.
   */
  #callsFor(line: WorkLine): number {
    const { maxCalls } = this.#options
    const left = maxCalls - this.#callsUnderWay
    const scarce = maxCalls * SCARCE_SHARE
    const most = Math.ceil(MOST_WHEN_SCARCE * (left / scarce) ** 2)
    return Math.max(0, Math.min(left, Math.max(Math.ceil(left - scarce), most - line.underWay)))
  }

  /** Returns how many runs of a line could start now, regardless of those in hand. */
  startable(line: WorkLine): number {
    return line.calls ? Math.min(line.slots.free, this.#callsFor(line)) : line.slots.free
  }

  /** Returns how many more runs of a line could be taken on: as many as it completes in `seconds`. */
  ahead(line: WorkLine, seconds = 1): number {
    if (this.#isFull) return 0
    const most = this.#options.claimAhead - this.#shortOf(line)
    return line.ahead(seconds === 1 ? most : Math.min(most, Math.ceil(line.slots.perSecond * seconds)))
  }

  /** If calls are short, nothing is taken on ahead for them. */
  #shortOf(line: WorkLine): number {
    return this.startable(line) < line.slots.free ? this.#options.claimAhead : 0
  }

  /** Returns the slots of a line for runs that are claimed only into free slots. */
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

  /** Returns the next run of a line that has a slot, and counts it as begun. */
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

  /** Records that a run of a line has ended. The code that knows how a call ended reports that to its target. */
  ended(line: WorkLine): void {
    line.underWay--
    if (line.calls) this.#callsUnderWay--
    else this.#slots.get(line.line.id)?.end()
    this.forgetIfIdle(line)
  }

  /** Removes a line that is not in use: the number of targets is unbounded. */
  forgetIfIdle(line: WorkLine): void {
    if (!this.#slots.has(line.line.id) && line.isIdle) this.#lines.delete(line.line.id)
  }

  /** Lines in which a slot is kept free. */
  get keptLines(): readonly WorkLine[] {
    return [...this.#lines.values()].filter(({ isSlotKept }) => isSlotKept)
  }

  /** Whether runs are known to wait in side lanes. */
  get hasBacklog(): boolean {
    for (const { hasBacklog, isSlotKept } of this.#lines.values()) if (hasBacklog || isSlotKept) return true
    return false
  }

  /** Removes lines that were queried and not used. */
  sweep(): void {
    for (const line of [...this.#lines.values()]) this.forgetIfIdle(line)
  }

  /** Lines in which runs wait for a slot. */
  get waitingLines(): readonly WorkLine[] {
    return [...this.#waiting]
  }

  /**
   * Returns the lines that may start a run after a run of `line` has ended: only that line, unless others wait for a call; then
   * all waiting lines by priority.
   */
  linesAfter(line: WorkLine): readonly WorkLine[] {
    if (!this.#isShort || !line.calls) return [line]
    this.#isShort = false
    return this.waitingLines.toSorted((a, b) => a.priority - b.priority)
  }

  /** Removes and returns all runs that wait for a slot. */
  clear(): Work[] {
    const all = this.waitingLines.flatMap((line) => line.clear())
    this.#waiting.clear()
    return all
  }

  /** Removes and returns the runs of a line that wait beyond the first `count`. */
  beyond(line: WorkLine, count: number): Work[] {
    const taken = line.beyond(count)
    if (line.waiting === 0) this.#waiting.delete(line)
    return taken
  }

  /** Removes and returns a run that waits for a slot. */
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

  /** All runs leased to this worker that it knows of. */
  get runIds(): readonly string[] {
    return [...this.attempts.keys(), ...this.claimed.map(({ run }) => run.runId), ...this.waitingIds]
  }
}

/** When less than this share of the calls is left, they are scarce. */
const SCARCE_SHARE = 0.25
/**
 * Maximum number of calls of a line when calls become scarce. When half of the scarce share is left it is a quarter of this,
 * and when a tenth is left it is one.
 */
const MOST_WHEN_SCARCE = 128

const MAX_REFS = 10_000

/** Suffix of the name of a line whose calls ignore the circuit of their target. */
const ALWAYS = ' always'
