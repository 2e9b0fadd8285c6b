/**
 * Lists end where so many bytes are read, however few items that are: an item may be a thousand times as long as most are.
 * The first item is always read. A statement that does so answers with each row whether another follows it.
 */
import { part } from './sql.ts'

/** Definitions, outputs and errors that one page holds: to make an answer of much more keeps a node from all else for long. */
export const MAX_PAGE_BYTES = 1024 * 1024

/** A row of a list that may be cut. */
export interface PageRow {
  /** Another follows, whether it was read or not. */
  readonly hasNext?: boolean
}

/** Bytes of a column `error` of type jsonb, as text; only what is stored compressed is opened for it. */
export const errorBytes = part`coalesce(case when pg_column_compression(error) is null then pg_column_size(error) else octet_length(error::text) end, 0)`

/** The same of columns `output` and `error` together. */
export const outcomeBytes = part`coalesce(case when pg_column_compression(output) is null then pg_column_size(output) else octet_length(output::text) end, 0)
             + ${errorBytes}`
