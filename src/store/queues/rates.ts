/**
 * Rates of gates: how often runs may start, with a burst. A gate stores one instant, `next_at`: when the next start would be
 * due if starts were spread evenly. A start may precede it by as much as the burst allows, which is `rate_window`. Claims count
 * their starts while they hold the lock of the gate, so the rate is exact across all nodes. In these parts, `g` is a row of
 * `gate`.
 */
import { DEFAULT_BURST_MS, rateGapUs } from '../../core/values/rate.ts'
import { type Part, part } from '../database/sql.ts'

/** Unit of `rate_gap` and `rate_window`: a start moves `next_at` one gap ahead, and never further ahead than the window. */
const microsecond = part`interval '1 microsecond'`

/** Whether the gate has any limit. */
export const isLimited = part`(g.places is not null or g.rate_gap is not null)`

/**
 * Whether `next_at` is further ahead than it can be, by more than a second. The margin allows for a claim that read the clock a
 * little before the last one.
 */
const wasSetBack = part`g.next_at > clock_timestamp() + g.rate_window * ${microsecond} + interval '1 second'`

/**
 * By how many microseconds the starts are ahead of an even spread. After the clock was set back, one run may start at once, so
 * that starts do not stop until the clock has caught up.
 */
export const startsAhead = part`(case
    when ${wasSetBack} then g.rate_window - g.rate_gap
    else greatest(0, (extract(epoch from g.next_at - clock_timestamp()) * 1000000)::bigint) end)`

/** Number of runs that may start now; null for a gate without limits. */
export const freeStarts = part`least(g.places - g.held, (g.rate_window - ${startsAhead}) / g.rate_gap)::integer`

/**
 * The value of `next_at` after a number of starts. It is not computed from `startsAhead` and the time: the time between two
 * readings of the clock, milliseconds on a busy machine, would be lost with each claim.
 */
export const nextAtAfter = (count: Part): Part =>
  part`(case when ${wasSetBack} then clock_timestamp() + (g.rate_window - g.rate_gap) * ${microsecond}
    else greatest(g.next_at, clock_timestamp()) end) + ${count} * g.rate_gap * ${microsecond}`

/** The value of `next_at` under a new window: no further ahead than the window. */
export const nextAtWithin = (window: Part): Part =>
  part`case when g.next_at > clock_timestamp() + ${window} * ${microsecond} then clock_timestamp() + ${window} * ${microsecond} else g.next_at end`

/** When the next run may start; null if one may start now. */
export const nextStartAt = part`(case when ${startsAhead} > g.rate_window - g.rate_gap
    then clock_timestamp() + (${startsAhead} - g.rate_window + g.rate_gap) * ${microsecond} end)`

/** The window of a gap and a burst; the burst may be null. */
export const windowOf = (gap: Part, burst: Part): Part =>
  part`coalesce(${burst}, greatest(1, ${DEFAULT_BURST_MS * 1_000}::bigint / ${gap})) * ${gap}`

/** Returns the gap of a rate in microseconds; null without a rate. */
export const gapOf = (rate: string | null | undefined): number | null =>
  rate == null ? null : rateGapUs(rate)
