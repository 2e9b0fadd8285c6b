/** Filters of the list of files in the address. */
import type { StoredFile } from '../../api/wire.ts'
import { choiceIn, type RawSearch, textIn } from '../../app/search.ts'

export interface FileFilters {
  readonly name?: string
  readonly state?: StoredFile['state']
}

export function fileFilters(search: RawSearch): FileFilters {
  const name = textIn(search, 'name')?.slice(0, 200)
  const state = choiceIn(search, 'state', ['waiting', 'ready'] as const)
  return { ...(name ? { name } : {}), ...(state ? { state } : {}) }
}
