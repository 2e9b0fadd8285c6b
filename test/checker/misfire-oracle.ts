/**
 * What must become of the occurrences that an outage has missed, by the misfire policy: written from what the
 * documentation promises, and sharing nothing with the product.
 */
import { lengthMs } from './oracle.ts'

/** A misfire is later than this; what is late by less runs, whatever the policy. */
const GRACE_MS = 60_000

export interface MisfirePolicy {
  readonly policy?: string
  readonly window?: string
  readonly cap?: number
  readonly rate?: number
}

export type Fate = 'ran' | 'caught up' | 'skipped' | 'failed'

const DEFAULTS = { policy: 'run_once', window: '24h', cap: 100 }

/** The fate of each instant that came due in an outage, when somebody looks again at `backAt`. */
export function fatesOf(due: readonly number[], misfire: MisfirePolicy, backAt: number): [number, Fate][] {
  const { policy, window, cap } = { ...DEFAULTS, ...misfire }
  const missed = due.filter((at) => at <= backAt)
  const [first] = missed
  if (first === undefined || backAt - first <= GRACE_MS) return missed.map((at) => [at, 'ran'])
  const recent = missed.filter((at) => at >= backAt - lengthMs(window))
  const made = (chosen: readonly number[], how: Fate): [number, Fate][] =>
    missed.map((at) => [at, chosen.includes(at) ? how : 'skipped'])
  switch (policy) {
    case 'run_once':
      return made(recent.slice(-1), 'ran')
    case 'run_all':
      return made(recent.slice(-cap), 'caught up')
    case 'skip':
      return made([], 'ran')
    case 'fail':
      return missed.map((at) => [at, 'failed'])
    default:
      throw new Error(`the oracle does not know the misfire policy ${policy}`)
  }
}
