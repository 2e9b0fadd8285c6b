/** Instants that a node took from its idea of the database's clock, corrected by that clock as they are written. */
import type { Assurance } from '../../runtime/clock.ts'
import { part } from './sql.ts'

/** Of instants that were told by the database, or by a test: there is nothing to correct. */
export const CERTAIN: Assurance = { now: 0, until: Number.MAX_SAFE_INTEGER }

/**
 * `behind`: by how much the database's clock is behind what the node thinks it is at least, as nothing or a negative number of
 * milliseconds. It can only be behind when it was set or slewed since the node has read it last.
 */
export const behind = ({ now, until }: Assurance) => part`behind as materialized (
    select least(0, date_part('epoch', clock_timestamp()) * 1000 - ${now}::float8) as ms, ${until}::float8 as assured_ms
  )`
