/** What the list of targets is narrowed down to, as it stands in the address. */
import { TARGET_STATES } from '../../../src/core/target/target-state.ts'
import type { TargetState } from '../../api/wire.ts'
import { choiceIn, type RawSearch, textIn } from '../../app/search.ts'

export interface TargetFilters {
  readonly q?: string
  readonly state?: TargetState
}

export function targetFilters(search: RawSearch): TargetFilters {
  const q = textIn(search, 'q')?.slice(0, 100)
  const state = choiceIn(search, 'state', TARGET_STATES)
  return { ...(q ? { q } : {}), ...(state ? { state } : {}) }
}
