/** What the list of runs is narrowed down to, as it stands in the address. */
import { RUN_STATES } from '../../../src/core/run.ts'
import type { RunState } from '../../api/wire.ts'
import { choiceIn, type RawSearch } from '../../app/search.ts'

export const SPANS = ['1h', '24h', '7d'] as const
export type Span = (typeof SPANS)[number]

/** How far back from now; without one there is no bound. */
export interface RunFilters {
  readonly state?: RunState
  readonly since?: Span
}

export const STATES = RUN_STATES

export const SPAN_MS: Readonly<Record<Span, number>> = {
  '1h': 3_600_000,
  '24h': 86_400_000,
  '7d': 604_800_000,
}

export function runFilters(search: RawSearch): RunFilters {
  const state = choiceIn(search, 'state', RUN_STATES)
  const since = choiceIn(search, 'since', SPANS)
  return { ...(state ? { state } : {}), ...(since ? { since } : {}) }
}
