/** Filters of the list of runs in the address. */
import { RUN_STATES } from '../../../src/core/run/run.ts'
import type { RunState } from '../../api/wire.ts'
import { choiceIn, type RawSearch } from '../../app/search.ts'
import { SPANS, type Span } from '../../components/span.ts'

export interface RunFilters {
  readonly state?: RunState
  readonly since?: Span
}

export const STATES = RUN_STATES

export function runFilters(search: RawSearch): RunFilters {
  const state = choiceIn(search, 'state', RUN_STATES)
  const since = choiceIn(search, 'since', SPANS)
  return { ...(state ? { state } : {}), ...(since ? { since } : {}) }
}
