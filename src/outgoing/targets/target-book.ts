/**
 * Every line of a node: the calls of each project to each target, with their limits, rates and circuits. All of it is memory: a node
 * that starts knows nothing and finds out.
 */
import { LineShelf } from './line-shelf.ts'
import { Openings } from './openings.ts'
import { Line, type LineHost, type TargetLine } from './target-line.ts'
import { mostTelling, reportOf, type TargetReport } from './target-report.ts'
import { type TargetSetting, TargetSettings } from './target-setting.ts'
import { TokenBucket } from './token-bucket.ts'
import { type CircuitTransition, type SharedCircuit, Transitions } from './transitions.ts'

export interface TargetBookOptions {
  /** Live worker nodes, which share the rates. */
  nodes(): number
  /** Monotonic milliseconds. */
  now?: () => number
  random?: () => number
  /**
   * A line that had no room may have some again: its probe is due, a token is there, its circuit closed, it was resumed, or its limit
   * was raised. That a call ended is known to whoever ended it.
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

  /** The line of a project's calls to a target; made when first asked for. */
  line(projectId: string, target: string, options?: { readonly noCircuit?: boolean }): TargetLine {
    return this.#line(projectId, target, options?.noCircuit !== true)
  }

  lines(): Iterable<TargetLine> {
    return this.#shelf
  }

  /** How many lines are kept. */
  get size(): number {
    return this.#shelf.size
  }

  /** Replaces the settings of all projects. */
  configure(settings: readonly TargetSetting[]): void {
    this.#settings = new TargetSettings(settings)
    for (const line of [...this.#shelf]) {
      const had = line.free
      this.#apply(line)
      // One that has no room any more is looked at when it may have some again.
      if (had === 0 || line.free === 0) this.#offer(line)
    }
  }

  /**
   * What other nodes know: all circuits that are open elsewhere. One that is closed here is open until the same instant, as a hint,
   * unless the target has since answered a call of this node. What this node opened itself stays as it is.
   */
  learn(circuits: readonly SharedCircuit[]): void {
    const now = this.#now()
    const open = new Set<Line>()
    for (const shared of circuits) {
      const line = this.#line(shared.projectId, shared.target, true)
      if (line.hasAnsweredSince(shared.openedAt)) continue
      open.add(line)
      // Where the probe of the other node is due, its result is not known yet.
      if (shared.until > now) line.circuit?.learn(shared)
      this.#openings.expect(line, line.opensAt(now))
    }
    for (const line of [...this.#shelf]) if (!open.has(line)) this.#unlearn(line, now)
  }

  /** Circuit transitions of this node since the last call, for sharing and events. */
  drainTransitions(): readonly CircuitTransition[] {
    return this.#transitions.drain()
  }

  /** All lines with anything to tell. */
  report(): readonly TargetReport[] {
    return [...this.reports(Number.POSITIVE_INFINITY)]
  }

  /** Those that have most to tell. Each report is made when it is asked for: thousands of them take some time. */
  *reports(limit: number): Iterable<TargetReport> {
    const now = this.#now()
    for (const line of mostTelling(this.#shelf, now, limit)) yield reportOf(line, now)
  }

  /** Offers what has come to have room. The timer calls it, and so do tests. */
  runOnce(): void {
    const now = this.#now()
    for (let line = this.#openings.next(now); line !== undefined; line = this.#openings.next(now)) {
      line.settle(now)
      if (!line.isForgotten) this.#offer(line)
    }
  }

  /** Half a minute has passed: forgets lines that nobody uses. A timer calls it while there are lines, and so do tests. */
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

  /** Offers a line that has room; looks again at any other when it may have. */
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

  /** Tasks that opted out of the circuit have a line of their own to the same target. */
  #siblingOf({ projectId, target, circuit }: Line): Line | undefined {
    return this.#shelf.find(projectId, target, circuit === null)
  }

  #unlearn(line: Line, now: number): void {
    const { circuit } = line
    if (circuit === null || !circuit.isLearned || circuit.state === 'probing') return
    line.moved(circuit.close(now), now)
  }
}
