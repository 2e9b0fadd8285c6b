/** What users set for targets: by project and pattern, the most exact pattern first. */

import { precisionOf } from '../../core/target/target-name.ts'
import { parseRate } from '../../core/values/rate.ts'

/** One setting. What is null is left to the next exact pattern that sets it. */
export interface TargetSetting {
  readonly projectId: string
  /** As core/target/target-name.ts reads it: `https://api.example.com`, `api.example.com` or `*.example.com`. */
  readonly pattern: string
  /** Calls under way in each node. */
  readonly limit: number | null
  /** Starts of all nodes together, such as `10/s`, and how many of them may come at once. */
  readonly rate: string | null
  readonly burst: number | null
  readonly isPaused: boolean
}

/** What applies to one target. */
export interface AppliedSetting {
  readonly limit: number | null
  /** From one start to the next, of all nodes together. */
  readonly gapMs: number | null
  readonly burst: number | null
  readonly isPaused: boolean
}

const NOTHING_SET: AppliedSetting = { limit: null, gapMs: null, burst: null, isPaused: false }

/** For each thing the most exact pattern that sets it; a burst belongs to its rate, and any pattern may pause. */
export function appliedSetting(target: string, settings: readonly TargetSetting[]): AppliedSetting {
  if (settings.length === 0) return NOTHING_SET
  const matching = settings
    .map((setting) => ({ setting, precision: precisionOf(setting.pattern, target) }))
    .filter(({ precision }) => precision > 0)
    .sort((a, b) => b.precision - a.precision)
    .map(({ setting }) => setting)
  const rated = matching.find(({ rate }) => rate !== null && parseRate(rate).ok)
  const rate = parseRate(rated?.rate ?? '')
  return {
    limit: matching.find(({ limit }) => limit !== null)?.limit ?? null,
    gapMs: rate.ok ? rate.gapMs : null,
    burst: rated?.burst ?? null,
    isPaused: matching.some(({ isPaused }) => isPaused),
  }
}
