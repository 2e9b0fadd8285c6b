/** Lists in pages. A cursor is the position of the last item of a page, as opaque text. */
import { EARLIEST_INSTANT, LATEST_INSTANT } from '../core/schedule/zone.ts'
import { invalidInput } from './validation/parse.ts'

type Position = readonly (string | number)[]

export const encodeCursor = (position: Position): string =>
  Buffer.from(JSON.stringify(position)).toString('base64url')

/** The position again, if it has the expected shape; a cursor that was made up is refused. */
export function decodeCursor<T extends Position>(
  text: string | undefined,
  isPosition: (value: unknown) => value is T,
): T | undefined {
  if (text === undefined) return undefined
  try {
    const position: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
    if (isPosition(position)) return position
  } catch {
    // Not JSON: the refusal below says so.
  }
  throw invalidInput([
    { pointer: '?cursor', detail: 'is not a cursor; take nextCursor of the page before as it is' },
  ])
}

/** Whether a number from a cursor is an instant that the database can be asked about. */
export const isInstant = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= EARLIEST_INSTANT && (value as number) < LATEST_INSTANT

/** How rows become a page. */
interface PageOptions<Row, Item> {
  readonly limit: number
  readonly present: (row: Row) => Item
  readonly position: (row: Row) => Position
}

/** A page of at most `limit` items. One row more than that tells that there is a next page. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  { limit, present, position }: PageOptions<Row, Item>,
): { items: Item[]; nextCursor: string | null } {
  const last = rows[limit - 1]
  return {
    items: rows.slice(0, limit).map(present),
    nextCursor: rows.length > limit && last !== undefined ? encodeCursor(position(last)) : null,
  }
}
