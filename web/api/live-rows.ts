/** Rows that come in at the top of a list while somebody watches it, and how many of them a list holds. */
import type { InfiniteData } from '@tanstack/react-query'
import type { Page } from './wire.ts'

export type Pages<T> = InfiniteData<Page<T>, string | null>

/** The first page grows by this much before the list is cut back to that page, as it was first read. */
export const MAX_GROWTH = 50

interface Grown<T> {
  readonly data: Pages<T>
  /** The end of the list was left out: where it goes on from there only the server knows. */
  readonly isCut: boolean
}

/** Puts rows before the first one. The reader is at the top, so what is left out is out of sight. */
export function withNewest<T>(data: Pages<T>, added: readonly T[], pageSize: number): Grown<T> {
  const [first, ...others] = data.pages
  if (first === undefined || added.length === 0) return { data, isCut: false }
  const items = [...added, ...first.items]
  if (items.length <= pageSize + MAX_GROWTH)
    return { data: { ...data, pages: [{ ...first, items }, ...others] }, isCut: false }
  const newest = { ...first, items: items.slice(0, pageSize) }
  return { data: { pages: [newest], pageParams: data.pageParams.slice(0, 1) }, isCut: true }
}
