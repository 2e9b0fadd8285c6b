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

/** Why there is no room; `open` when there is. */
export type LineCondition = 'open' | 'full' | 'paused' | 'circuit' | 'rate'

/** A line may be kept: should the book have forgotten it meanwhile, it is remembered as soon as it is used. */
export interface TargetLine {
  readonly id: string
  readonly projectId: string
  readonly target: string
  /** Calls under way. Written by `begin` and `end` only. */
  readonly underWay: number
  /**
   * Calls that may start now: 0 while paused, while the circuit is open (1 when a probe is due and none is under way), and
   * without a token of its rate.
   */
  readonly free: number
  /** Ends a second, judged by the last second; 0 unless the circuit is closed and the limit not shrunk by failures. */
  readonly perSecond: number
  readonly condition: LineCondition
  begin(): void
  /** Every `begin` is followed by one `end`, whatever happens to the call. */
  end(result: CallResult): void
}

/** What a line needs of its book. */
export interface LineHost {
  now(): number
  random(): number
  /** Where it is kept. */
  readonly shelf: LineShelf
  /** The line has no room and may have some at that instant. */
  expectOpening(line: Line, at: number): void
  /** The line may have room now, or it is known when. */
  opened(line: Line): void
  changed(line: Line, change: CircuitChange, now: number): void
  /** The line was forgotten, and somebody still uses it. */
  remember(line: Line): void
  /** The other line to the same target, of tasks with or without a circuit; undefined where there is none. */
  siblingOf(line: Line): Line | undefined
}

/** What went wrong last, and when on the clock of the book. */
export interface LineError {
  readonly code: string
  readonly message: string
  readonly at: number
}

const MAX_MESSAGE = 500
const RATE_BUCKET_MS = 100
/** A probe may take a little longer than most calls do. */
const PATIENCE_FACTOR = 3
/** Calls under way at most, of which half hang, as a multiple of the limit where the project has set none. */
const BESIDE_HUNG_FACTOR = 2

export class Line implements TargetLine {
  readonly id: string
  readonly projectId: string
  readonly target: string
  readonly limit = new AdaptiveLimit()
  /** Null where tasks opted out of it. */
  readonly circuit: Circuit | null
  readonly latency = new LatencyHistogram()
  readonly recent = new RecentCalls()
  underWay = 0
  isPaused = false
  hasOwnLimit = false
  /** Shared by the lines to one target. */
  bucket: TokenBucket | null = null
  /** When the book looks at it again; infinite when it need not. */
  expectedAt = Number.POSITIVE_INFINITY
  isForgotten = false
  /** The age in which it was used last. */
  usedIn: number
  /** Whether any call ever began. */
  hasBegun = false
  lastError: LineError | null = null
  readonly #host: LineHost
  readonly #throughput: Throughput
  readonly #hung = new HungCalls()
  /** The latest instant at which a call began that was answered. */
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

  /** Calls that may start within the limit. */
  get #room(): number {
    const counted = this.underWay - this.#hung.count
    return Math.max(0, Math.min(this.limit.value - counted, this.#most - this.underWay))
  }

  /**
   * A limit that the project has set holds whatever happens, for both lines to the target together. Our own leaves room for others
   * beside calls that hang.
   */
  get #most(): number {
    if (!this.hasOwnLimit) return BESIDE_HUNG_FACTOR * this.limit.max
    return this.limit.max - (this.#host.siblingOf(this)?.underWay ?? 0)
  }

  #roomToFindOut(): number {
    const now = this.#host.now()
    return this.#hung.mayTry(now) && now >= this.#triesAt ? 1 : 0
  }

  /** When one more call may find out whether those under way hang; infinite when none may. */
  get #triesAt(): number {
    if (this.underWay === 0 || this.underWay >= this.#most) return Number.POSITIVE_INFINITY
    return this.#hung.triesAt(this.#usualMs)
  }

  /** How long most answers take, and a little longer. */
  get #usualMs(): number {
    return (this.latency.percentile(0.95) ?? 0) * PATIENCE_FACTOR
  }

  /** A full line is looked at again, in case nothing ends. */
  #watchIfFull(): void {
    if (this.expectedAt !== Number.POSITIVE_INFINITY || this.isCircuitOpen || this.#room > 0) return
    this.#host.expectOpening(this, this.#triesAt)
  }

  get perSecond(): number {
    const { shrunkBy } = this.limit
    // One that is only slower than it was still ends what it is given: without anything in hand it would idle between two claims.
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
    // With no other call under way it is the one that began last, however its duration was taken.
    const startedAt = underWay > 1 ? now - result.durationMs : now
    const change = this.circuit?.end(result, startedAt, now, isStale)
    if (change !== undefined) this.moved(change, now)
    this.#watchIfFull()
    const sibling = this.hasOwnLimit ? this.#host.siblingOf(this) : undefined
    if (sibling !== undefined) this.#host.opened(sibling)
  }

  /** Time has passed that the book was asked to watch for. */
  settle(now: number): void {
    const change = this.circuit?.settle(now)
    if (change !== undefined) this.moved(change, now)
  }

  /** When it may have room again without anybody doing anything; infinite when time alone changes nothing. */
  opensAt(now: number): number {
    if (this.isPaused) return Number.POSITIVE_INFINITY
    const tokenAt = this.bucket?.opensAt(now) ?? now
    if (this.circuit !== null && this.isCircuitOpen && !this.circuit.mayProbe(now))
      return Math.max(this.circuit.changesAt, tokenAt)
    const at = Math.max(tokenAt, this.#room > 0 || this.isCircuitOpen ? now : this.#triesAt)
    return at > now ? at : Number.POSITIVE_INFINITY
  }

  /** Follows a change of its circuit. */
  moved(change: CircuitChange, now: number): void {
    if (change === 'closed' || change === 'unlearned') this.limit.ramp(now)
    if (change === 'closed') this.#hung.know(this.underWay, now)
    this.#host.changed(this, change, now)
    this.#host.opened(this)
  }

  /** Null: as many as are usual. */
  setMaxLimit(limit: number | null): void {
    this.hasOwnLimit = limit !== null
    this.limit.setMax(limit ?? defaultLimitOf(this.target))
  }

  /** Whether another line in its place would behave the same. */
  isOrdinary(now: number): boolean {
    return this.underWay === 0 && !this.isCircuitOpen && this.limit.shrunkBy === null && !this.mustStay(now)
  }

  /** Whether something would go wrong without it: a rate would begin anew, or nobody would hear that it goes on after a pause. */
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

  /** An overloaded target says so at once; silence may be that of one path only. */
  #isStale({ kind, durationMs }: CallResult, now: number): boolean {
    return kind !== 'overloaded' && now - durationMs < this.#answeredFrom
  }
}

const kept = ({ code, message }: { code: string; message: string }, at: number): LineError => ({
  code,
  message: keptText(message, MAX_MESSAGE),
  at,
})
