/** Instants that a node took from its estimate of the database's clock; they are corrected by that clock when they are written. */
import type { Assurance } from '../../runtime/clock.ts'
import { type Part, part } from './sql.ts'

/** For instants that came from the database or from a test: there is nothing to correct. */
export const CERTAIN: Assurance = { now: 0, until: Number.MAX_SAFE_INTEGER }

/**
 * `behind`: by how many milliseconds, at least, the database's clock is behind the node's estimate of it, as zero or a negative
 * number. It can be behind only if it was set or slewed since the node last read it.
 */
export const behind = ({ now, until }: Assurance) => part`behind as materialized (
    select least(0, date_part('epoch', clock_timestamp()) * 1000 - ${now}::float8) as ms, ${until}::float8 as assured_ms
  )`

/** An instant of the node, in milliseconds, corrected by what `behind` says. */
export const assured = (ms: Part) =>
  part`${ms} + case when ${ms} > (select assured_ms from behind) then (select ms from behind) else 0 end`
