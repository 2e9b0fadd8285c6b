/** Filters of the list of targets in the address. */
import { TARGET_STATES } from '../../../src/core/target/target-state.ts'
import type { TargetState } from '../../api/wire.ts'
import { choiceIn, type NameSearch, namePartIn, type RawSearch } from '../../app/search.ts'

export interface TargetFilters extends NameSearch {
  readonly state?: TargetState
}

export function targetFilters(search: RawSearch): TargetFilters {
  const state = choiceIn(search, 'state', TARGET_STATES)
  return { ...namePartIn(search), ...(state ? { state } : {}) }
}
