/** Decides what a node writes about its targets: the reports that have changed since it last wrote them. */
import { type CallError, joined, type LineState, type TargetState } from '../core/target/target-state.ts'
import type { LineCondition } from '../outgoing/targets/target-line.ts'
import type { TargetReport } from '../outgoing/targets/target-report.ts'
import { mapInTurns } from '../runtime/turns.ts'
import type { ReportedLine } from '../store/targets/target-reports.ts'

/** A report of a target in use is written again after this time, so that it stays valid. */
const RENEW_MS = 10_000

interface Written {
  readonly text: string
  readonly at: number
}

/** Records what was written. `offsetMs` converts instants of the book to the database's clock. */
export class TargetReports {
  #written = new Map<string, Written>()

  /**
   * Returns the reports to write now. They count as written: if writing fails, call `forget`. Yields to other work, since there
   * may be many.
   */
  async changed(
    reports: readonly TargetReport[],
    { now, offsetMs }: { now: number; offsetMs: number },
  ): Promise<ReportedLine[]> {
    const written = new Map<string, Written>()
    const changed = await mapInTurns(byTarget(reports), ([key, lines]) => {
      const text = JSON.stringify(lines)
      const isIdle = lines.every(isIdleLine)
      const before = this.#written.get(key)
      const isKnown = before?.text === text && (isIdle || now - before.at < RENEW_MS)
      written.set(key, isKnown ? before : { text, at: now })
      return isKnown ? [] : [reportedLine(lines, isIdle, offsetMs)]
    })
    this.#written = written
    return changed.flat()
  }

  forget(): void {
    this.#written = new Map()
  }
}

/** Calls of tasks that opted out of the circuit have a separate line to the same target; users see one target. */
function byTarget(reports: readonly TargetReport[]): Map<string, TargetReport[]> {
  const targets = new Map<string, TargetReport[]>()
  for (const report of reports) {
    const key = `${report.projectId} ${report.target}`
    const known = targets.get(key)
    if (known) known.push(report)
    else targets.set(key, [report])
  }
  return targets
}

/** Whether nothing about the target changes until it is called or configured. */
const isIdleLine = ({ underWay, circuit, condition }: TargetReport) =>
  underWay === 0 && circuit === null && (condition === 'open' || condition === 'paused')

function reportedLine(lines: readonly TargetReport[], isIdle: boolean, offsetMs: number): ReportedLine {
  const [first] = lines as [TargetReport]
  const { limitReason, ...state } = joined(lines.map((line) => stateOf(line, offsetMs)))
  return {
    projectId: first.projectId,
    target: first.target,
    isIdle,
    state: { ...state, limitReason: limitReason ?? 'default' },
  }
}

const STATES: Readonly<Record<LineCondition, TargetState>> = {
  open: 'available',
  rate: 'rate_limited',
  full: 'full',
  circuit: 'circuit_open',
  paused: 'paused',
}

function stateOf(report: TargetReport, offsetMs: number): LineState {
  const { circuit, lastError, limitSince } = report
  const at = (instant: number) => Math.round(instant + offsetMs)
  const state = STATES[report.condition]
  return {
    state: circuit !== null && state !== 'paused' ? 'circuit_open' : state,
    underWay: report.underWay,
    limit: report.limit,
    limitReason: report.limitReason,
    limitSince: limitSince === null ? null : at(limitSince),
    latency: report.latency,
    calls: report.calls,
    failures: report.failures,
    circuit: circuit && {
      openedAt: at(circuit.openedAt),
      until: at(circuit.until),
      error: circuit.error && errorAt(circuit.error, at(lastError?.at ?? circuit.openedAt)),
    },
    lastError: lastError && errorAt(lastError, at(lastError.at)),
  }
}

const errorAt = ({ code, message }: { code: string; message: string }, at: number): CallError => ({
  code,
  message,
  at,
})
