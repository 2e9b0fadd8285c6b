/**
 * The state of targets as nodes see it, and the combination of the states that several nodes report. Instants are epoch
 * milliseconds.
 */
import { precisionOf } from './target-name.ts'

/** Maximum number of concurrent calls of one node to one target, unless a setting overrides it. */
export const DEFAULT_CALL_LIMIT = 128
/** The same maximum for a mail server: each call is a connection, and servers reject clients that open many. */
export const DEFAULT_MAIL_LIMIT = 5

export const defaultLimitOf = (target: string): number =>
  target.startsWith('smtp:') ? DEFAULT_MAIL_LIMIT : DEFAULT_CALL_LIMIT

/** Whether calls to a target start, and if not, why. Later states take precedence over earlier ones. */
export const TARGET_STATES = ['available', 'rate_limited', 'full', 'circuit_open', 'paused'] as const
export type TargetState = (typeof TARGET_STATES)[number]

/**
 * Why a limit has its value: no setting, a setting, a reduction after failures or after responses became slow, or an increase
 * after such a reduction.
 */
export const LIMIT_REASONS = ['default', 'setting', 'failures', 'latency', 'ramping'] as const
export type LimitReason = (typeof LIMIT_REASONS)[number]

/** The most recent error. */
export interface CallError {
  readonly code: string
  readonly message: string
  readonly at: number
}

/** Response times in milliseconds. */
export interface Latency {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/** A circuit that is not closed, as one node sees it. */
export interface OpenCircuit {
  readonly openedAt: number
  /** When the next probe is due. */
  readonly until: number
  readonly error: CallError | null
}

/** The state of one target as one node sees it. */
export interface LineState {
  readonly state: TargetState
  readonly underWay: number
  /** Current maximum number of concurrent calls. */
  readonly limit: number
  readonly limitReason: LimitReason
  /** Since when the limit has been below its maximum. */
  readonly limitSince: number | null
  readonly latency: Latency | null
  /** Number of calls that ended in the last minute, and of those that failed. */
  readonly calls: number
  readonly failures: number
  /** Null if the circuit is closed. */
  readonly circuit: OpenCircuit | null
  readonly lastError: CallError | null
}

/** The settings of users for the targets that match a pattern. */
export interface TargetSettings {
  readonly pattern: string
  readonly limit: number | null
  readonly rate: string | null
  readonly burst: number | null
  readonly pausedAt: number | null
  readonly pauseReason: string | null
}

/**
 * The settings that apply to a target: each from the most precise pattern that has it. A burst comes from the same pattern as
 * its rate.
 */
export interface AppliedSettings {
  readonly limit: TargetSettings | null
  readonly rate: TargetSettings | null
  readonly pause: TargetSettings | null
}

export function appliedTo(target: string, settings: readonly TargetSettings[]): AppliedSettings {
  const matching = settings
    .map((setting) => ({ setting, precision: precisionOf(setting.pattern, target) }))
    .filter(({ precision }) => precision > 0)
    .sort((a, b) => b.precision - a.precision)
    .map(({ setting }) => setting)
  const first = (has: (setting: TargetSettings) => boolean) => matching.find(has) ?? null
  return {
    limit: first(({ limit }) => limit !== null),
    rate: first(({ rate }) => rate !== null),
    pause: first(({ pausedAt }) => pausedAt !== null),
  }
}

/** The state of a target for all nodes together. */
export interface JoinedState extends Omit<LineState, 'limitReason'> {
  /** Null if no node has called the target recently. */
  readonly limitReason: LimitReason | null
}

/**
 * Combines the states of several nodes: the worst state applies, counts are added, and percentiles are those of the slowest
 * node.
 */
export function joined(lines: readonly LineState[]): JoinedState {
  const worst = [...lines].sort((a, b) => TARGET_STATES.indexOf(b.state) - TARGET_STATES.indexOf(a.state))[0]
  const least = leastBy(lines, ({ limit }) => limit)
  return {
    state: worst?.state ?? 'available',
    underWay: sum(lines, ({ underWay }) => underWay),
    limit: sum(lines, ({ limit }) => limit),
    limitReason: least?.limitReason ?? null,
    limitSince: least?.limitSince ?? null,
    latency: leastBy(lines, ({ latency }) => -(latency?.p95 ?? -1))?.latency ?? null,
    calls: sum(lines, ({ calls }) => calls),
    failures: sum(lines, ({ failures }) => failures),
    circuit: leastBy(circuitsOf(lines), ({ openedAt }) => openedAt) ?? null,
    lastError: leastBy(errorsOf(lines), ({ at }) => -at) ?? null,
  }
}

const circuitsOf = (lines: readonly LineState[]) => lines.flatMap(({ circuit }) => circuit ?? [])
const errorsOf = (lines: readonly LineState[]) => lines.flatMap(({ lastError }) => lastError ?? [])

const sum = <T>(items: readonly T[], pick: (item: T) => number): number =>
  items.reduce((total, item) => total + pick(item), 0)

const leastBy = <T>(items: readonly T[], pick: (item: T) => number): T | undefined =>
  [...items].sort((a, b) => pick(a) - pick(b))[0]
