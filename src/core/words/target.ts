/** Descriptions of targets, for the command line and the dashboard. */
import type { LimitReason, TargetState } from '../target/target-state.ts'

const STATES: Readonly<Record<TargetState, string>> = {
  available: 'available',
  rate_limited: 'rate-limited',
  full: 'full',
  circuit_open: 'circuit open',
  paused: 'paused',
}

export const targetStateWords = (state: TargetState): string => STATES[state]

/** A limit as the API shows it. */
export interface ShownLimit {
  readonly current: number | null
  readonly perNode: number
  readonly reason: LimitReason
  readonly pattern: string | null
}

/** The maximum number of concurrent calls, and why the limit has that value. */
export function limitWords(limit: ShownLimit): string {
  const most = `${limit.perNode} per node`
  switch (limit.reason) {
    case 'default':
      return `${most}, the default`
    case 'setting':
      return limit.pattern === null ? `${most}, set by a user` : `${most}, set for ${limit.pattern}`
    case 'failures':
      return `${limit.current}, lowered after failures (maximum ${most})`
    case 'latency':
      return `${limit.current}, lowered because responses became slower (maximum ${most})`
    case 'ramping':
      return `${limit.current}, growing after the circuit closed (maximum ${most})`
    default:
      return limit.reason satisfies never
  }
}

/** A rate as the API shows it. */
export interface ShownRate {
  readonly limit: string | null
  readonly burst: number | null
}

export function rateWords({ limit, burst }: ShownRate): string {
  if (limit === null) return 'no limit'
  return burst === null ? limit : `${limit}, up to ${burst} at once`
}
