/** The calls of one project to one target, in one node: whether the next may start, and what the last ones said about the target. */
import { defaultLimitOf } from '../../core/target/target-state.ts'
import { keptText } from '../../core/values/kept-text.ts'
import { Throughput } from '../../runtime/throughput.ts'
import { AdaptiveLimit } from './adaptive-limit.ts'
import type { CallResult } from './call-result.ts'
import { Circuit, type CircuitChange, isNoAnswer } from './circuit.ts'
import { HungCalls } from './hung-calls.ts'
import { LatencyHistogram } from './latency.ts'
import type { LineShelf } from './line-shelf.ts'
import { RecentCalls } from './recent-calls.ts'
import type { TokenBucket } from './token-bucket.ts'

/** Why there is no room; `open` if there is. */
export type LineCondition = 'open' | 'full' | 'paused' | 'circuit' | 'rate'

/** A caller may keep a line: if the book has removed it meanwhile, it is added again when it is used. */
export interface TargetLine {
  readonly id: string
  readonly projectId: string
  readonly target: string
  /** Calls under way. Written by `begin` and `end` only. */
  readonly underWay: number
  /**
   * Calls that may start now: 0 while paused, while the circuit is open (1 if a probe is due and none is in progress), and
   * without a token of its rate.
   */
  readonly free: number
  /**
   * Calls that ended per second, based on the last second; 0 unless the circuit is closed and the limit is not shrunk by
   * failures or ramping up.
   */
  readonly perSecond: number
  readonly condition: LineCondition
  begin(): void
  /** Must be called exactly once for each `begin`, whatever happens to the call. */
  end(result: CallResult): void
}

/** What a line needs of its book. */
export interface LineHost {
  now(): number
  random(): number
  /** The shelf that keeps the line. */
  readonly shelf: LineShelf
  /** Expects the line, which has no room, to have some at that instant. */
  expectOpening(line: Line, at: number): void
  /** Reports that the line may have room now, or that the instant when it may is known. */
  opened(line: Line): void
  changed(line: Line, change: CircuitChange, now: number): void
  /** Adds a line again that was removed although it is still in use. */
  remember(line: Line): void
  /** Returns the other line to the same target, for tasks with or without a circuit; undefined if there is none. */
  siblingOf(line: Line): Line | undefined
}

/** The last error, and when it occurred on the book's clock. */
export interface LineError {
  readonly code: string
  readonly message: string
  readonly at: number
}

const MAX_MESSAGE = 500
const RATE_BUCKET_MS = 100
/** A probe may take this many times as long as most calls. */
const PATIENCE_FACTOR = 3
/** Maximum number of calls in progress including hung ones, as a multiple of the limit, if the project has set no limit. */
const BESIDE_HUNG_FACTOR = 2

export class Line implements TargetLine {
  readonly id: string
  readonly projectId: string
  readonly target: string
  readonly limit = new AdaptiveLimit()
  /** Null if the line's tasks opted out of the circuit. */
  readonly circuit: Circuit | null
  readonly latency = new LatencyHistogram()
  readonly recent = new RecentCalls()
  underWay = 0
  isPaused = false
  hasOwnLimit = false
  /** Shared by the lines to one target. */
  bucket: TokenBucket | null = null
  /** When the book checks the line again; infinite if it need not. */
  expectedAt = Number.POSITIVE_INFINITY
  isForgotten = false
  /** The age in which the line was last used. */
  usedIn: number
  /** Whether any call ever began. */
  hasBegun = false
  lastError: LineError | null = null
  readonly #host: LineHost
  readonly #throughput: Throughput
  readonly #hung = new HungCalls()
  /** The latest start of a call that was answered. */
  #answeredFrom = Number.NEGATIVE_INFINITY

  constructor(host: LineHost, projectId: string, target: string, hasCircuit: boolean) {
    this.#host = host
    this.projectId = projectId
    this.target = target
    this.id = hasCircuit ? `${projectId} ${target}` : `${projectId} ${target} always`
    this.circuit = hasCircuit ? new Circuit(host.random) : null
    this.#throughput = new Throughput(host.now, RATE_BUCKET_MS)
    this.usedIn = host.shelf.age
    this.setMaxLimit(null)
  }

  get isCircuitOpen(): boolean {
    return this.circuit !== null && this.circuit.state !== 'closed'
  }

  get free(): number {
    if (this.isForgotten) this.#host.remember(this)
    if (this.isPaused) return 0
    if (this.circuit !== null && this.circuit.state !== 'closed') return this.#freeForProbe(this.circuit)
    const room = this.#room || this.#roomToFindOut()
    if (room === 0) return 0
    return this.bucket === null ? room : Math.min(room, this.bucket.free(this.#host.now()))
  }

  /** Number of calls that may start within the limit. */
  get #room(): number {
    const counted = this.underWay - this.#hung.count
    return Math.max(0, Math.min(this.limit.value - counted, this.#most - this.underWay))
  }

  /**
   * Maximum number of calls in progress. A limit set by the project always holds, for both lines to the target together. The
   * default limit leaves room for other calls beside those that hang.
   */
  get #most(): number {
    if (!this.hasOwnLimit) return BESIDE_HUNG_FACTOR * this.limit.max
    return this.limit.max - (this.#host.siblingOf(this)?.underWay ?? 0)
  }

  #roomToFindOut(): number {
    const now = this.#host.now()
    return this.#hung.mayTry(now) && now >= this.#triesAt ? 1 : 0
  }

  /** When one more call may test whether those in progress hang; infinite if none may. */
  get #triesAt(): number {
    if (this.underWay === 0 || this.underWay >= this.#most) return Number.POSITIVE_INFINITY
    return this.#hung.triesAt(this.#usualMs)
  }

  /** How long most answers take, with a margin. */
  get #usualMs(): number {
    return (this.latency.percentile(0.95) ?? 0) * PATIENCE_FACTOR
  }

  /** Schedules another check of a full line, in case no call ends. */
  #watchIfFull(): void {
    if (this.expectedAt !== Number.POSITIVE_INFINITY || this.isCircuitOpen || this.#room > 0) return
    this.#host.expectOpening(this, this.#triesAt)
  }

  get perSecond(): number {
    const { shrunkBy } = this.limit
    // A target that only became slower still completes its calls: without runs in hand it would be idle between two claims.
    if (this.isCircuitOpen || (shrunkBy !== null && shrunkBy !== 'latency')) return 0
    return this.#throughput.perSecond()
  }

  get condition(): LineCondition {
    if (this.free > 0) return 'open'
    if (this.isPaused) return 'paused'
    const isProbeDue = this.circuit?.mayProbe(this.#host.now())
    if (this.isCircuitOpen && !isProbeDue) return 'circuit'
    return this.#room > 0 || isProbeDue ? 'rate' : 'full'
  }

  begin(): void {
    const isProbe = this.isCircuitOpen
    this.#hung.begin(this.#host.now(), this.#room > 0 || isProbe ? 0 : this.underWay)
    this.underWay++
    this.hasBegun = true
    this.usedIn = this.#host.shelf.age
    if (this.isForgotten) this.#host.remember(this)
    if (this.bucket !== null) this.#takeToken(this.bucket)
    if (this.circuit !== null && isProbe) this.#beginWhileOpen(this.circuit)
    this.#watchIfFull()
  }

  end(result: CallResult): void {
    const now = this.#host.now()
    const underWay = this.underWay
    if (underWay > 0) this.underWay = underWay - 1
    this.usedIn = this.#host.shelf.age
    this.#throughput.count(now)
    const { kind } = result
    if (kind === 'answered' || kind === 'failed') this.#answered(result, underWay, now)
    this.#hung.ended(now - result.durationMs, this.underWay)
    const isStale = this.#isStale(result, now)
    if (isNoAnswer(result) && !isStale && !this.isCircuitOpen) this.limit.failed(now - result.durationMs, now)
    const isFailure = kind !== 'answered' && kind !== 'neutral'
    this.recent.count(now, isFailure)
    if (isFailure && result.error) this.lastError = kept(result.error, now)
    // If no other call is in progress, this is the one that began last, whatever its measured duration.
    const startedAt = underWay > 1 ? now - result.durationMs : now
    const change = this.circuit?.end(result, startedAt, now, isStale)
    if (change !== undefined) this.moved(change, now)
    this.#watchIfFull()
    const sibling = this.hasOwnLimit ? this.#host.siblingOf(this) : undefined
    if (sibling !== undefined) this.#host.opened(sibling)
  }

  /** Handles the instant that the book was asked to watch for. */
  settle(now: number): void {
    const change = this.circuit?.settle(now)
    if (change !== undefined) this.moved(change, now)
  }

  /** Returns when the line may have room again by time alone; infinite if time alone changes nothing. */
  opensAt(now: number): number {
    if (this.isPaused) return Number.POSITIVE_INFINITY
    const tokenAt = this.bucket?.opensAt(now) ?? now
    if (this.circuit !== null && this.isCircuitOpen && !this.circuit.mayProbe(now))
      return Math.max(this.circuit.changesAt, tokenAt)
    const at = Math.max(tokenAt, this.#room > 0 || this.isCircuitOpen ? now : this.#triesAt)
    return at > now ? at : Number.POSITIVE_INFINITY
  }

  /** Handles a change of its circuit. */
  moved(change: CircuitChange, now: number): void {
    if (change === 'closed' || change === 'unlearned') this.limit.ramp(now)
    if (change === 'closed') this.#hung.know(this.underWay, now)
    this.#host.changed(this, change, now)
    this.#host.opened(this)
  }

  /** Sets the maximum limit; null for the default. */
  setMaxLimit(limit: number | null): void {
    this.hasOwnLimit = limit !== null
    this.limit.setMax(limit ?? defaultLimitOf(this.target))
  }

  /** Whether a new line in its place would behave the same. */
  isOrdinary(now: number): boolean {
    return this.underWay === 0 && !this.isCircuitOpen && this.limit.shrunkBy === null && !this.mustStay(now)
  }

  /** Whether removing it would cause harm: a rate would start anew, or the end of a pause would go unnoticed. */
  mustStay(now: number): boolean {
    return this.isPaused || (this.bucket !== null && !this.bucket.isFull(now))
  }

  /** Whether the target has answered a call that began after an instant. */
  hasAnsweredSince(instant: number): boolean {
    return this.#answeredFrom > instant
  }

  #freeForProbe(circuit: Circuit): number {
    const now = this.#host.now()
    if (!circuit.mayProbe(now)) return 0
    return this.bucket === null ? 1 : Math.min(1, this.bucket.free(now))
  }

  #beginWhileOpen(circuit: Circuit): void {
    const now = this.#host.now()
    const change = circuit.begin(now, this.#usualMs)
    if (change !== undefined) this.#host.changed(this, change, now)
    this.#host.expectOpening(this, circuit.changesAt)
  }

  #takeToken(bucket: TokenBucket): void {
    const now = this.#host.now()
    bucket.take(now)
    const at = bucket.opensAt(now)
    if (at > now) this.#host.expectOpening(this, at)
  }

  #answered({ durationMs }: CallResult, underWay: number, now: number): void {
    this.latency.add(durationMs)
    this.limit.answered(durationMs, underWay, now)
    if (now - durationMs > this.#answeredFrom) this.#answeredFrom = now - durationMs
    if (this.#hung.answered(now - durationMs)) this.limit.ramp(now)
  }

  /** An overloaded target reports it at once, so that is never stale; silence may concern only one path. */
  #isStale({ kind, durationMs }: CallResult, now: number): boolean {
    return kind !== 'overloaded' && now - durationMs < this.#answeredFrom
  }
}

const kept = ({ code, message }: { code: string; message: string }, at: number): LineError => ({
  code,
  message: keptText(message, MAX_MESSAGE),
  at,
})
