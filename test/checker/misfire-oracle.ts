/**
 * What must become of the occurrences that an outage has missed, by the misfire policy: written from what the
 * documentation promises, and sharing nothing with the product.
 */
import { lengthMs } from './oracle.ts'

/** In an outage no longer than this, something runs whatever the policy. */
export const GRACE_MS = 10_000

export interface MisfirePolicy {
  readonly policy?: string
  readonly window?: string
  readonly cap?: number
  readonly rate?: number
}

/** A period without a scheduler. */
export interface Outage {
  readonly from: number
  readonly to: number
  readonly graceMs?: number
}

export type Fate = 'ran' | 'caught up' | 'skipped' | 'failed'

const DEFAULTS = { policy: 'run_once', window: '24h', cap: 100 }

/** The fate of each instant that came due in an outage. */
export function fatesOf(due: readonly number[], misfire: MisfirePolicy, outage: Outage): [number, Fate][] {
  const { policy, window, cap } = { ...DEFAULTS, ...misfire }
  const missed = due.filter((at) => at > outage.from && at <= outage.to)
  const isShort = outage.to - outage.from <= (outage.graceMs ?? GRACE_MS)
  const recent = missed.filter((at) => isShort || at >= outage.to - lengthMs(window))
  const made = (chosen: readonly number[], how: Fate): [number, Fate][] =>
    missed.map((at) => [at, chosen.includes(at) ? how : 'skipped'])
  switch (policy) {
    case 'run_once':
      return made(recent.slice(-1), 'ran')
    case 'run_all':
      return made(recent.slice(-cap), isShort && missed.length === 1 ? 'ran' : 'caught up')
    case 'skip':
      return made(isShort ? missed.slice(-1) : [], 'ran')
    case 'fail':
      return isShort ? made(missed.slice(-1), 'ran') : missed.map((at) => [at, 'failed'])
    default:
      throw new Error(`the oracle does not know the misfire policy ${policy}`)
  }
}
