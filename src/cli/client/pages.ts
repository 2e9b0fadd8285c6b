/** Reads lists page by page, up to the requested number of items. */

import { usage } from './flag-values.ts'
import { remark } from './output.ts'
import { queryOf, type Server } from './server.ts'

const MAX_LISTED = 10_000
/** Maximum page size of the server. */
const PAGE = 200

interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

/** What was found, and whether there is more. */
export interface Listed<T> {
  readonly items: readonly T[]
  readonly hasMore: boolean
}

export async function readPages<T>(
  server: Server,
  path: string,
  filter: Readonly<Record<string, string | undefined>>,
  limit: number,
): Promise<Listed<T>> {
  const items: T[] = []
  let cursor: string | null = null
  do {
    const query = queryOf({ ...filter, limit: Math.min(PAGE, limit - items.length), cursor })
    const page: Page<T> = await server.get(path + query)
    items.push(...page.items)
    cursor = page.nextCursor
  } while (cursor !== null && items.length < limit)
  return { items, hasMore: cursor !== null }
}

export function readLimit(text: string): number {
  const limit = Number(text)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_LISTED) return limit
  throw usage(`--limit is '${text}'; it must be a whole number from 1 to ${MAX_LISTED}.`)
}

/** Prints a note on standard error if the list was cut short. */
export function remarkMore({ items, hasMore }: Listed<unknown>): void {
  if (hasMore)
    remark(
      `Showing ${items.length} results; there are more. To show up to ${items.length * 2}: --limit ${items.length * 2}\n`,
    )
}
