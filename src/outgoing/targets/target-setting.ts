/** The users' settings for targets, by project and pattern; the most specific pattern applies first. */

import { hostOfTarget } from '../../core/target/target-name.ts'
import { parseRate } from '../../core/values/rate.ts'

/** One setting. A null field is left to the next less specific pattern that sets it. */
export interface TargetSetting {
  readonly projectId: string
  /** In the syntax of core/target/target-name.ts: `https://api.example.com`, `api.example.com` or `*.example.com`. */
  readonly pattern: string
  /** Maximum number of calls in progress per node. */
  readonly limit: number | null
  /** Rate of starts for all nodes together, such as `10/s`, and the number of starts that may come at once. */
  readonly rate: string | null
  readonly burst: number | null
  readonly isPaused: boolean
}

/** The settings that apply to one target. */
export interface AppliedSetting {
  readonly limit: number | null
  /** Interval between two starts, for all nodes together. */
  readonly gapMs: number | null
  readonly burst: number | null
  readonly isPaused: boolean
}

const NOTHING_SET: AppliedSetting = { limit: null, gapMs: null, burst: null, isPaused: false }

/** Indexes settings by project and pattern, so that those of a target are found among thousands. */
export class TargetSettings {
  readonly #projects = new Map<string, Map<string, TargetSetting>>()

  constructor(settings: readonly TargetSetting[] = []) {
    for (const setting of settings) {
      const patterns = this.#projects.get(setting.projectId)
      if (patterns) patterns.set(setting.pattern, setting)
      else this.#projects.set(setting.projectId, new Map([[setting.pattern, setting]]))
    }
  }

  /** Returns each setting from the most specific pattern that sets it; a burst belongs to its rate, and any pattern may pause. */
  appliedTo(projectId: string, target: string): AppliedSetting {
    const patterns = this.#projects.get(projectId)
    if (patterns === undefined) return NOTHING_SET
    const matching = patternsOf(target).flatMap((pattern) => patterns.get(pattern) ?? [])
    const rated = matching.find(({ rate }) => rate !== null && parseRate(rate).ok)
    const rate = parseRate(rated?.rate ?? '')
    return {
      limit: matching.find(({ limit }) => limit !== null)?.limit ?? null,
      gapMs: rate.ok ? rate.gapMs : null,
      burst: rated?.burst ?? null,
      isPaused: matching.some(({ isPaused }) => isPaused),
    }
  }
}

/** Returns the patterns that match a target, most specific first, as `precisionOf` ranks them. */
export function patternsOf(target: string): string[] {
  const host = hostOfTarget(target)
  const patterns = [target, host]
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1))
    patterns.push(`*${host.slice(dot)}`)
  return patterns
}
