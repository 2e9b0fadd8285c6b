/** What nodes know about the targets they call, and what becomes of it when several of them call one. Instants are epoch milliseconds. */
import { precisionOf } from './target-name.ts'

/** Calls to one target that may be under way in one node, unless a setting says otherwise. */
export const DEFAULT_CALL_LIMIT = 128
/** The same for a mail server: each call is a connection there, and servers refuse those who open many. */
export const DEFAULT_MAIL_LIMIT = 5

export const defaultLimitOf = (target: string): number =>
  target.startsWith('smtp:') ? DEFAULT_MAIL_LIMIT : DEFAULT_CALL_LIMIT

/** Whether calls to a target start, and if not, what keeps them back. The later ones outweigh the earlier ones. */
export const TARGET_STATES = ['available', 'rate_limited', 'full', 'circuit_open', 'paused'] as const
export type TargetState = (typeof TARGET_STATES)[number]

/** Why a limit is what it is: nobody set one, somebody did, it shrank after failures or as answers became slow, or it grows back. */
export const LIMIT_REASONS = ['default', 'setting', 'failures', 'latency', 'ramping'] as const
export type LimitReason = (typeof LIMIT_REASONS)[number]

/** What went wrong last. */
export interface CallError {
  readonly code: string
  readonly message: string
  readonly at: number
}

/** How long answers take, in milliseconds. */
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

/** One target as one node sees it. */
export interface LineState {
  readonly state: TargetState
  readonly underWay: number
  /** Calls that may be under way now. */
  readonly limit: number
  readonly limitReason: LimitReason
  /** Since when the limit is below its maximum. */
  readonly limitSince: number | null
  readonly latency: Latency | null
  /** Calls that ended in the last minute, and how many of them failed. */
  readonly calls: number
  readonly failures: number
  /** Null: the circuit is closed. */
  readonly circuit: OpenCircuit | null
  readonly lastError: CallError | null
}

/** What users have set for the targets that a pattern names. */
export interface TargetSettings {
  readonly pattern: string
  readonly limit: number | null
  readonly rate: string | null
  readonly burst: number | null
  readonly pausedAt: number | null
  readonly pauseReason: string | null
}

/** The settings that apply to a target: for each of them the most exact pattern that has it. A burst belongs to its rate. */
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

/** What all nodes together know of a target. */
export interface JoinedState extends Omit<LineState, 'limitReason'> {
  /** Null: no node has called it lately. */
  readonly limitReason: LimitReason | null
}

/** The worst of what nodes see counts; what they count is added up. Percentiles are those of the slowest node. */
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
