/** Paginates lists. A cursor is the position of the last item of a page, as opaque text. */
import { invalidInput } from '../../core/errors.ts'
import { EARLIEST_INSTANT, LATEST_INSTANT } from '../../core/schedule/zone.ts'
import type { PageRow } from '../../store/database/page-bytes.ts'

type Position = readonly (string | number)[]

export const encodeCursor = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** Decodes a cursor, which `pointer` refers to; throws if it does not have the expected shape. */
export function decodeCursor<T extends Position>(
  text: string | undefined,
  isPosition: (value: unknown) => value is T,
  pointer = '?cursor',
): T | undefined {
  if (text === undefined) return undefined
  try {
    const position: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (isPosition(position)) return position
  } catch {
    // Not JSON: rejected below.
  }
  throw invalidInput([
    {
      pointer,
      detail: 'is not a valid cursor; pass the nextCursor of the previous page unchanged',
    },
  ])
}

/** Returns whether a number from a cursor is an instant that the database can represent. */
export const isInstant = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= EARLIEST_INSTANT && (value as number) < LATEST_INSTANT

/** How rows become a page. */
interface PageOptions<Row, Item> {
  readonly limit: number
  readonly present: (row: Row) => Item
  readonly position: (row: Row) => Position
}

/**
 * Returns a page of at most `limit` items. There is a next page if there is one row more than that, or if the last row says
 * that the list was cut because of its size.
 */
export function pageOf<Row, Item>(
  rows: readonly (Row & PageRow)[],
  { limit, present, position }: PageOptions<Row, Item>,
): { items: Item[]; nextCursor: string | null } {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasNext = rows.length > limit || last?.hasNext === true
  return {
    items: shown.map(present),
    nextCursor: hasNext && last !== undefined ? encodeCursor(position(last)) : null,
  }
}
