/**
 * Judges a period of operation from outside: a pure function of what four witnesses recorded. It knows what the product
 * promises and nothing about how the product keeps its promises, and shares no code with it.
 */
import { openBook } from './book.ts'
import type { Evidence } from './evidence.ts'
import { type Finding, type Reported, reportOf } from './finding.ts'
import { checkAcceptance } from './rules/acceptance.ts'
import { checkAttempts } from './rules/attempts.ts'
import { checkDeliveries } from './rules/deliveries.ts'
import { checkLeases } from './rules/leases.ts'
import { checkLedger } from './rules/ledger.ts'
import { checkLimits } from './rules/limits.ts'
import { checkReceipts } from './rules/receipts.ts'
import { checkTruth } from './rules/truth.ts'
import { checkTurns } from './rules/turns.ts'
import { checkWindows } from './rules/windows.ts'

/** How often the evidence contains the cases that are hard to get right; without them a trial proves little. */
export interface Seen {
  readonly occurrences: number
  readonly deliveries: number
  readonly retries: number
  readonly skips: number
  /** Runs that were taken from a worker. */
  readonly reclaims: number
  /** Shards that went from one node to another. */
  readonly takeovers: number
  /** Deliveries of a run after its first one. */
  readonly repetitions: number
  /** Reported ends that did not count, because the worker no longer held the run. */
  readonly refusedReports: number
}

/** What the checker found. */
export interface CheckResult {
  /** `unknown`: nothing is wrong, but a case that had to occur did not. */
  readonly kind: 'valid' | 'invalid' | 'unknown'
  readonly findings: readonly Reported[]
  readonly seen: Seen
}

export function check(evidence: Evidence, mustSee: readonly (keyof Seen)[] = []): CheckResult {
  const book = openBook(evidence)
  const found: Finding[] = [
    checkAcceptance,
    checkLedger,
    checkDeliveries,
    checkAttempts,
    checkTruth,
    checkLeases,
    checkReceipts,
  ].flatMap((rule) => rule(book))
  // A run that already has a finding would only be reported again by the rules that count runs.
  const tainted = new Set(found.flatMap(({ runId }) => runId ?? []))
  found.push(...checkLimits(book, tainted), ...checkTurns(book, tainted), ...checkWindows(book, tainted))
  const findings = reportOf(found)
  const seen = whatWasSeen(evidence)
  const isEnough = mustSee.every((what) => seen[what] > 0)
  return { kind: findings.length > 0 ? 'invalid' : isEnough ? 'valid' : 'unknown', findings, seen }
}

function whatWasSeen({ tables, deliveries, receipts = [] }: Evidence): Seen {
  const lost = tables.attempts.filter(({ outcome }) => outcome === 'worker_lost')
  const owners = new Map<number, string>()
  let takeovers = 0
  for (const { shard, owner } of tables.owners) {
    if (owner === null) continue
    if (owners.has(shard) && owners.get(shard) !== owner) takeovers++
    owners.set(shard, owner)
  }
  return {
    occurrences: tables.history.length,
    deliveries: deliveries.length,
    retries: tables.attempts.length - lost.length,
    skips: tables.history.filter(({ state }) => state === 'skipped').length,
    reclaims: lost.length,
    takeovers,
    repetitions: deliveries.length - new Set(deliveries.map(({ messageId }) => messageId)).size,
    refusedReports: receipts.filter(({ isRecorded }) => !isRecorded).length,
  }
}

/** Describes the result in words for a failing test, with at most `MOST_SHOWN` findings. */
export function describe({ kind, findings, seen }: CheckResult): string {
  const lines = findings.slice(0, MOST_SHOWN).map((finding) => {
    const subject = finding.runId ? `run ${finding.runId}` : finding.taskId ? `task ${finding.taskId}` : 'all'
    const also = finding.also.map((other) => `${other.kind} (${other.what})`).join('; ')
    return `  ${finding.kind}: ${subject} ${finding.what}${also && `\n      and so: ${also}`}`
  })
  const more = findings.length - lines.length
  return [`${kind}: ${JSON.stringify(seen)}`, ...lines, ...(more > 0 ? [`  and ${more} more`] : [])].join(
    '\n',
  )
}

const MOST_SHOWN = 20
