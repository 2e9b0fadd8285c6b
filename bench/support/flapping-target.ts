/**
 * Simulates a target that goes up and down for days, to measure how many attempts a circuit saves. The lines are the program's
 * own code; the target, the tasks and time are simulated. The same seed gives the same days.
 */
import { DEFAULT_RETRY_POLICY, mayRetry, retryDelay } from '../../src/core/policy/retry-policy.ts'
import type { CallResultKind } from '../../src/outgoing/targets/call-result.ts'
import { TargetBook } from '../../src/outgoing/targets/target-book.ts'
import type { TargetLine } from '../../src/outgoing/targets/target-line.ts'
import { Heap } from '../../src/runtime/heap.ts'

export interface FlappingOptions {
  readonly hasCircuit: boolean
  readonly days: number
  /** Each has a run every minute. */
  readonly tasks: number
  readonly seed: number
}

/** Result of a simulation. */
export interface FlappingRow {
  readonly runs: number
  readonly attempts: number
  /** Attempts that failed because the target was down, and their total duration in seconds. */
  readonly burnt: number
  readonly burntSeconds: number
  /** Runs that failed because no attempts were left. */
  readonly gaveUp: number
  readonly downPercent: number
  /** The longest that a run waited for its first attempt, and after the target was up again. */
  readonly waitedSeconds: number
  readonly overdueSeconds: number
}

interface Run {
  readonly taskId: string
  readonly dueAt: number
  failures: number
}

/** A stretch in which the target is up, refuses connections, answers 503, or does not answer. */
interface Stretch {
  readonly from: number
  readonly until: number
  readonly does: CallResultKind
}

interface Event {
  readonly at: number
  readonly happen: () => void
}

const MINUTE_MS = 60_000
const DAY_MS = 1_440 * MINUTE_MS
const TIMEOUT_MS = 30_000
const ANSWER_MS = 80
const REFUSAL_MS = 2

export function flap({ hasCircuit, days, tasks, seed }: FlappingOptions): FlappingRow {
  const week = new Week(stretches(days * DAY_MS, randomOf(seed)), hasCircuit, randomOf(seed + 1))
  for (let task = 0; task < tasks; task++)
    week.schedule(`task-${task}`, (task * MINUTE_MS) / tasks, days * DAY_MS)
  return week.play()
}

/** Up for five minutes to an hour, down for half a minute to half an hour. */
function stretches(untilMs: number, random: () => number): Stretch[] {
  const made: Stretch[] = []
  const troubles = ['unreachable', 'overloaded', 'timed_out'] as const
  for (let from = 0, isUp = true; from < untilMs; isUp = !isUp) {
    const ms = isUp ? (5 + 55 * random()) * MINUTE_MS : (0.5 + 29.5 * random()) * MINUTE_MS
    const does = isUp ? 'answered' : (troubles[Math.floor(random() * 3)] ?? 'unreachable')
    made.push({ from, until: from + ms, does })
    from += ms
  }
  return made
}

class Week {
  readonly #stretches: readonly Stretch[]
  readonly #random: () => number
  readonly #book: TargetBook
  readonly #line: TargetLine
  readonly #events = new Heap<Event>((a, b) => a.at - b.at)
  readonly #waiting: Run[] = []
  #now = 0
  #stretch = 0
  #row = { runs: 0, attempts: 0, burnt: 0, burntSeconds: 0, gaveUp: 0, waitedSeconds: 0, overdueSeconds: 0 }

  constructor(stretches: readonly Stretch[], hasCircuit: boolean, random: () => number) {
    this.#stretches = stretches
    this.#random = random
    this.#book = new TargetBook({ nodes: () => 1, now: () => this.#now, random, onOpen: () => this.#begin() })
    this.#line = this.#book.line('p', 'https://flapping.example.com', { noCircuit: !hasCircuit })
  }

  schedule(taskId: string, firstAt: number, untilMs: number): void {
    const fire = (at: number) => {
      this.#row.runs++
      this.#waiting.push({ taskId, dueAt: at, failures: 0 })
      this.#begin()
      if (at + MINUTE_MS < untilMs)
        this.#events.push({ at: at + MINUTE_MS, happen: () => fire(at + MINUTE_MS) })
    }
    this.#events.push({ at: firstAt, happen: () => fire(firstAt) })
  }

  play(): FlappingRow {
    for (let event = this.#events.pop(); event !== undefined; event = this.#events.pop()) {
      this.#now = event.at
      event.happen()
      this.#book.runOnce()
    }
    this.#book.close()
    const down = this.#stretches.filter(({ does }) => does !== 'answered')
    const downMs = down.reduce((sum, { from, until }) => sum + until - from, 0)
    return { ...this.#row, downPercent: (100 * downMs) / (this.#stretches.at(-1)?.until ?? 1) }
  }

  #begin(): void {
    while (this.#line.free > 0) {
      const run = this.#waiting.shift()
      if (run === undefined) return
      this.#call(run)
    }
    // While runs wait, empty events make the simulated time pass: the timer of the target book runs on another clock.
    if (this.#waiting.length > 0) this.#events.push({ at: this.#now + 1_000, happen: () => {} })
  }

  #call(run: Run): void {
    const { does, from } = this.#present()
    const ms = does === 'answered' ? ANSWER_MS : does === 'timed_out' ? TIMEOUT_MS : REFUSAL_MS
    this.#row.attempts++
    if (run.failures === 0) this.#waited(run, does === 'answered' ? from : Number.POSITIVE_INFINITY)
    this.#line.begin()
    this.#events.push({ at: this.#now + ms, happen: () => this.#end(run, does, ms) })
  }

  #waited({ dueAt }: Run, upSince: number): void {
    const row = this.#row
    row.waitedSeconds = Math.max(row.waitedSeconds, (this.#now - dueAt) / 1_000)
    row.overdueSeconds = Math.max(row.overdueSeconds, (this.#now - Math.max(dueAt, upSince)) / 1_000)
  }

  #end(run: Run, kind: CallResultKind, durationMs: number): void {
    this.#line.end({ taskId: run.taskId, kind, durationMs })
    if (kind !== 'answered') {
      this.#row.burnt++
      this.#row.burntSeconds += durationMs / 1_000
      this.#retry(run)
    }
    this.#begin()
  }

  #retry(run: Run): void {
    run.failures++
    if (!mayRetry(DEFAULT_RETRY_POLICY, run.failures)) {
      this.#row.gaveUp++
      return
    }
    const delayMs = retryDelay(DEFAULT_RETRY_POLICY, run.failures, this.#random)
    const happen = () => {
      this.#waiting.push(run)
      this.#begin()
    }
    this.#events.push({ at: this.#now + delayMs, happen })
  }

  /** After the last stretch the target stays up. */
  #present(): Stretch {
    while (this.#now >= (this.#stretches[this.#stretch]?.until ?? Number.POSITIVE_INFINITY)) this.#stretch++
    const last = this.#stretches.at(-1)?.until ?? 0
    return this.#stretches[this.#stretch] ?? { from: last, until: Number.POSITIVE_INFINITY, does: 'answered' }
  }
}

/** Mulberry32. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
