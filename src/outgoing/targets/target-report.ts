/** What a node reports to users about its calls to one target. Instants are on the book's clock. */
import type { ShrunkBy } from './adaptive-limit.ts'
import type { CircuitState } from './circuit.ts'
import type { Line, LineCondition, LineError } from './target-line.ts'

/** The current state of one line. */
export interface TargetReport {
  readonly lineId: string
  readonly projectId: string
  readonly target: string
  /** False for the calls of tasks that opted out of the circuit; they have their own line. */
  readonly hasCircuit: boolean
  readonly condition: LineCondition
  readonly isPaused: boolean
  readonly underWay: number
  readonly limit: number
  readonly maxLimit: number
  readonly limitReason: 'default' | 'setting' | ShrunkBy
  /** Since when the limit is below its maximum; null if it is not. */
  readonly limitSince: number | null
  /** Milliseconds; null before the first answer. */
  readonly latency: { readonly p50: number; readonly p95: number; readonly p99: number } | null
  /** In the last minute. */
  readonly calls: number
  readonly failures: number
  /** Null if the circuit is closed. */
  readonly circuit: CircuitReport | null
  readonly lastError: LineError | null
}

/** A circuit that is not closed. */
export interface CircuitReport {
  readonly state: Exclude<CircuitState, 'closed'>
  readonly openedAt: number
  /** When the next probe is due. */
  readonly until: number
  /** Whether another node opened it. */
  readonly isLearned: boolean
  readonly error: { readonly code: string; readonly message: string } | null
}

/**
 * Rank of a line for reports: first lines whose calls are held back, then busy or rate-limited ones, then those with calls in
 * progress, then the rest.
 */
function tellingOf(line: Line): number {
  if (line.isCircuitOpen || line.isPaused || line.limit.shrunkBy !== null) return 0
  if (line.underWay >= line.limit.value || line.bucket !== null) return 1
  return line.underWay > 0 ? 2 : 3
}

const RANKS = 4

/** Returns the lines with the most to report, in a single pass, because there may be many thousands. */
export function mostTelling(lines: Iterable<Line>, now: number, limit: number): Line[] {
  const ranks: Line[][] = Array.from({ length: RANKS }, () => [])
  for (const line of lines) {
    const rank = ranks[tellingOf(line)]
    if (rank && rank.length < limit && (line.hasBegun || !line.isOrdinary(now))) rank.push(line)
  }
  return ranks.flat().slice(0, limit)
}

export function reportOf(line: Line, now: number): TargetReport {
  const { limit } = line
  const { calls, failures } = line.recent.at(now)
  return {
    lineId: line.id,
    projectId: line.projectId,
    target: line.target,
    hasCircuit: line.circuit !== null,
    condition: line.condition,
    isPaused: line.isPaused,
    underWay: line.underWay,
    limit: limit.value,
    maxLimit: limit.max,
    limitReason: limit.shrunkBy ?? (line.hasOwnLimit ? 'setting' : 'default'),
    limitSince: limit.shrunkBy === null ? null : limit.shrunkSince,
    latency: latencyOf(line),
    calls,
    failures,
    circuit: circuitOf(line),
    lastError: line.lastError,
  }
}

function latencyOf({ latency }: Line): TargetReport['latency'] {
  const [p50, p95, p99] = [latency.percentile(0.5), latency.percentile(0.95), latency.percentile(0.99)]
  return p50 === null || p95 === null || p99 === null ? null : { p50, p95, p99 }
}

function circuitOf({ circuit }: Line): CircuitReport | null {
  if (circuit === null || circuit.state === 'closed') return null
  const { state, openedAt, until, isLearned, error } = circuit
  return { state, openedAt, until, isLearned, error }
}
