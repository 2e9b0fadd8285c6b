import { MAX_INTEGER } from '../../core/values/integer.ts'
import { type Part, part } from '../database/sql.ts'

/**
 * The ordinal of the next occurrence, as the row of a task stores it. Live rows count further in rounds, but the column is an
 * integer: a longer count stays at its largest value.
 */
export const storedOrdinal = (ordinal: number): Part =>
  part`least(${ordinal}::bigint, ${MAX_INTEGER}::integer)`
