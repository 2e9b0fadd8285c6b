/**
 * All lines of a node: the calls of each project to each target, with their limits, rates and circuits. They exist only in
 * memory: a node starts without knowledge and learns by calling.
 */
import { LineShelf } from './line-shelf.ts'
import { Openings } from './openings.ts'
import { Line, type LineHost, type TargetLine } from './target-line.ts'
import { mostTelling, reportOf, type TargetReport } from './target-report.ts'
import { type TargetSetting, TargetSettings } from './target-setting.ts'
import { TokenBucket } from './token-bucket.ts'
import { type CircuitTransition, type SharedCircuit, Transitions } from './transitions.ts'

export interface TargetBookOptions {
  /** Number of live worker nodes, which share the rates. */
  nodes(): number
  /** Monotonic milliseconds. */
  now?: () => number
  random?: () => number
  /**
   * Called when a line that had no room may have some again: its probe is due, a token is available, its circuit closed, it was
   * resumed, or its limit was raised. It is not called for the end of a call, which the caller of `end` knows about.
   */
  onOpen(line: TargetLine): void
}

export class TargetBook {
  readonly #options: TargetBookOptions
  readonly #now: () => number
  readonly #shelf: LineShelf
  readonly #openings: Openings
  readonly #transitions = new Transitions()
  readonly #host: LineHost
  #settings = new TargetSettings()

  constructor(options: TargetBookOptions) {
    const now = options.now ?? (() => performance.now())
    const shelf = new LineShelf(now)
    this.#options = options
    this.#now = now
    this.#shelf = shelf
    this.#openings = new Openings(now, () => this.runOnce())
    this.#host = {
      now,
      random: options.random ?? Math.random,
      shelf,
      expectOpening: (line, at) => this.#expectOpening(line, at),
      opened: (line) => this.#offer(line),
      changed: (line, change, at) => this.#transitions.add(line, change, at),
      remember: (line) => this.#keep(line),
      siblingOf: (line) => this.#siblingOf(line),
    }
  }

  /** Returns the line of a project's calls to a target, created on first use. */
  line(projectId: string, target: string, options?: { readonly noCircuit?: boolean }): TargetLine {
    return this.#line(projectId, target, options?.noCircuit !== true)
  }

  lines(): Iterable<TargetLine> {
    return this.#shelf
  }

  /** Number of lines kept. */
  get size(): number {
    return this.#shelf.size
  }

  /** Replaces the settings of all projects. */
  configure(settings: readonly TargetSetting[]): void {
    this.#settings = new TargetSettings(settings)
    for (const line of [...this.#shelf]) {
      const had = line.free
      this.#apply(line)
      // A line without room is checked again when it may have some.
      if (had === 0 || line.free === 0) this.#offer(line)
    }
  }

  /**
   * Applies the circuits that are open on other nodes. A circuit that is closed here is opened until the same instant, as a
   * hint, unless the target has since answered a call of this node. A circuit that this node opened itself does not change.
   */
  learn(circuits: readonly SharedCircuit[]): void {
    const now = this.#now()
    const open = new Set<Line>()
    for (const shared of circuits) {
      const line = this.#line(shared.projectId, shared.target, true)
      if (line.hasAnsweredSince(shared.openedAt)) continue
      open.add(line)
      // If the other node's probe is due, its result is not known yet.
      if (shared.until > now) line.circuit?.learn(shared)
      this.#openings.expect(line, line.opensAt(now))
    }
    for (const line of [...this.#shelf]) if (!open.has(line)) this.#unlearn(line, now)
  }

  /** Returns the circuit transitions of this node since the last call, for sharing and events. */
  drainTransitions(): readonly CircuitTransition[] {
    return this.#transitions.drain()
  }

  /** Returns the reports of all lines with activity. */
  report(): readonly TargetReport[] {
    return [...this.reports(Number.POSITIVE_INFINITY)]
  }

  /**
   * Yields the reports of the lines with the most activity. Each report is created on demand, because creating thousands takes
   * some time.
   */
  *reports(limit: number): Iterable<TargetReport> {
    const now = this.#now()
    for (const line of mostTelling(this.#shelf, now, limit)) yield reportOf(line, now)
  }

  /** Offers lines that have room now. Called by the timer and by tests. */
  runOnce(): void {
    const now = this.#now()
    for (let line = this.#openings.next(now); line !== undefined; line = this.#openings.next(now)) {
      line.settle(now)
      if (!line.isForgotten) this.#offer(line)
    }
  }

  /** Removes unused lines. Called every half minute by a timer while there are lines, and by tests. */
  passAge(): void {
    this.#shelf.passAge()
  }

  close(): void {
    this.#openings.close()
    this.#shelf.close()
  }

  #line(projectId: string, target: string, hasCircuit: boolean): Line {
    const line = this.#shelf.find(projectId, target, hasCircuit)
    if (line === undefined) return this.#make(projectId, target, hasCircuit)
    line.usedIn = this.#shelf.age
    return line
  }

  #make(projectId: string, target: string, hasCircuit: boolean): Line {
    const line = new Line(this.#host, projectId, target, hasCircuit)
    this.#keep(line)
    return line
  }

  #keep(line: Line): void {
    this.#shelf.keep(line)
    this.#apply(line)
  }

  /** Both lines to a target wait for its rate. */
  #expectOpening(line: Line, at: number): void {
    this.#openings.expect(line, at)
    if (line.bucket === null) return
    const sibling = this.#siblingOf(line)
    if (sibling !== undefined) this.#openings.expect(sibling, at)
  }

  /** Offers a line if it has room; otherwise schedules another check for when it may have. */
  #offer(line: Line): void {
    if (line.free > 0) this.#options.onOpen(line)
    else this.#openings.expect(line, line.opensAt(this.#now()))
  }

  #apply(line: Line): void {
    const { limit, gapMs, burst, isPaused } = this.#settings.appliedTo(line.projectId, line.target)
    line.setMaxLimit(limit)
    line.isPaused = isPaused
    if (gapMs === null) line.bucket = null
    else line.bucket = this.#bucketOf(line, gapMs, burst)
  }

  /** Both lines to a target share its rate. */
  #bucketOf(line: Line, gapMs: number, burst: number | null): TokenBucket {
    const bucket = line.bucket ?? this.#siblingOf(line)?.bucket
    if (bucket == null) return new TokenBucket(this.#options.nodes, gapMs, burst)
    bucket.set(gapMs, burst)
    return bucket
  }

  /** Returns the other line to the same target: tasks that opted out of the circuit have a separate one. */
  #siblingOf({ projectId, target, circuit }: Line): Line | undefined {
    return this.#shelf.find(projectId, target, circuit === null)
  }

  #unlearn(line: Line, now: number): void {
    const { circuit } = line
    if (circuit === null || !circuit.isLearned || circuit.state === 'probing') return
    line.moved(circuit.close(now), now)
  }
}
