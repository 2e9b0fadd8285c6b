/** Inserts new rows at the top of a list that the user is looking at, and keeps the list bounded. */
import type { InfiniteData } from '@tanstack/react-query'
import type { Page } from './wire.ts'

export type Pages<T> = InfiniteData<Page<T>, string | null>

/** The first page may grow by this number of rows before the list is cut back to one page. */
export const MAX_GROWTH = 50

interface Grown<T> {
  readonly data: Pages<T>
  /** Whether rows at the end were dropped, so that only the server knows the next page. */
  readonly isCut: boolean
}

/** Inserts rows before the first one. The user is at the top, so rows dropped at the end are out of sight. */
export function withNewest<T>(data: Pages<T>, added: readonly T[], pageSize: number): Grown<T> {
  const [first, ...others] = data.pages
  if (first === undefined || added.length === 0) return { data, isCut: false }
  const items = [...added, ...first.items]
  if (items.length <= pageSize + MAX_GROWTH)
    return { data: { ...data, pages: [{ ...first, items }, ...others] }, isCut: false }
  const newest = { ...first, items: items.slice(0, pageSize) }
  return { data: { pages: [newest], pageParams: data.pageParams.slice(0, 1) }, isCut: true }
}
