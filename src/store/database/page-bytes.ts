/**
 * Limits pages of lists by bytes, however few items that are: an item may be a thousand times as long as most. The first item
 * is always read. A statement with such a limit returns with each row whether another follows.
 */
import { part } from './sql.ts'

/** Maximum size of the definitions, outputs and errors on one page: building a much larger response blocks the node for long. */
export const MAX_PAGE_BYTES = 1024 * 1024

/** A row of a list that may be cut off. */
export interface PageRow {
  /** Whether another row follows, even if it was not read. */
  readonly hasNext?: boolean
}

/** Bytes of a jsonb column `error` as text; the value is decompressed only if it is stored compressed. */
export const errorBytes = part`coalesce(case when pg_column_compression(error) is null then pg_column_size(error) else octet_length(error::text) end, 0)`

/** The same for the columns `output` and `error` together. */
export const outcomeBytes = part`coalesce(case when pg_column_compression(output) is null then pg_column_size(output) else octet_length(output::text) end, 0)
             + ${errorBytes}`
