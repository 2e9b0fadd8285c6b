/**
 * Conditions by which readers find the rows that a table received since a frontier; core/run/frontier.ts explains how that works.
 * Rows are found by time, through the BRIN index, and selected by the id of the transaction that stored them, which every row has
 * anyway: nothing extra is written for readers.
 */
import type { Frontier, Place, Search } from '../../core/run/frontier.ts'
import { list, type Part, part } from '../database/sql.ts'

/** Which rows of a time range to find: those that became visible between two frontiers. */
export interface EndsQuery {
  readonly from: Frontier
  readonly to: Frontier
  /** The range of instants, from inclusive to exclusive; a null `untilUs` means no upper bound. */
  readonly fromUs: number
  readonly untilUs: number | null
  /** Only places after this one. */
  readonly after: Place | null
  readonly limit: number
  /** Only events of one stream, such as a task; null for all. */
  readonly stream: string | null
}

/**
 * Query for rows that became visible between two frontiers but are dated before the searched time range, which begins at
 * `untilUs`.
 */
export interface StraysQuery {
  readonly untilUs: number
  readonly after: Place | null
  readonly limit: number
}

/** Query for those that long transactions have stored. */
export interface TransactionsQuery extends StraysQuery {
  readonly long: NonNullable<Search['long']>
  readonly xmax: number
}

/** The columns of a row that is read in the order of its instant and id. */
export interface Followed {
  readonly at: Part
  readonly id: Part
  /** The transaction that stored it, as a number. */
  readonly xmin: Part
}

/**
 * The id of the transaction that stored a row. It has 32 bits in the row; the higher bits follow from the last id assigned,
 * because no row that is read is 4 billion transactions old.
 */
export const transactionOf = (xmin: Part, xmax: number): Part =>
  part`${xmax}::bigint - ((${xmax}::bigint - ${xmin}) & 4294967295)`

/** Whether a row comes after a place; true if there is none. */
export const isAfter = ({ at, id }: Pick<Followed, 'at' | 'id'>, after: Place | null): Part =>
  part`(${after?.id ?? null}::uuid is null
         or (${at}, ${id}) > (to_timestamp(${after?.us ?? null}::float8 / 1000000), ${after?.id ?? null}::uuid))`

/** Ids of the transactions that were in progress at a frontier. */
const pendingOf = (frontier: Frontier) => list(frontier.pending, ({ xid }) => xid)

/** Selects the rows of a time range that became visible between two frontiers. */
export const visibleBetween = (row: Followed, { from, to, fromUs, untilUs, after }: EndsQuery): Part =>
  part`cross join lateral (select ${transactionOf(row.xmin, to.xmax)} as xid) x
  where ${row.at} >= to_timestamp(${fromUs}::float8 / 1000000)
    and ${row.at} < coalesce(to_timestamp(${untilUs}::float8 / 1000000), 'infinity')
    and ${isAfter(row, after)}
    and (x.xid >= ${from.xmax}::bigint or x.xid = any(${pendingOf(from)}::bigint[]))
    and x.xid < ${to.xmax}::bigint and not x.xid = any(${pendingOf(to)}::bigint[])`

/** Selects the rows that long transactions have stored, before an instant. */
export const storedBy = (row: Followed, { long, xmax, untilUs, after }: TransactionsQuery): Part =>
  part`where ${row.at} >= to_timestamp(${long.fromUs}::float8 / 1000000) and ${row.at} < to_timestamp(${untilUs}::float8 / 1000000)
    and ${isAfter(row, after)}
    and ${transactionOf(row.xmin, xmax)} = any(${list(long.xids, (xid) => xid)}::bigint[])`
