/**
 * Rates behind gates: how often runs may start, with a burst. A gate keeps one instant, `next_at`: when the next start would be due if
 * they were spread evenly. A start may come before that by as much as the burst allows, which is `rate_window`. Claims count their
 * starts while they hold the lock of the gate, so the rate is exact over all nodes. Parts about a row `g` are about one of `gate`.
 */
import { DEFAULT_BURST_MS, rateGapUs } from '../../core/values/rate.ts'
import { type Part, part } from '../database/sql.ts'

/** The parts below name these: a start is one gap further ahead, and starts are never further ahead than the window. */
const microsecond = part`interval '1 microsecond'`

/** Whether anything is limited behind the gate. */
export const isLimited = part`(g.places is not null or g.rate_gap is not null)`

/** The starts seem to be ahead by a second more than they can be. A claim may have read the clock a little before the last one. */
const wasSetBack = part`g.next_at > clock_timestamp() + g.rate_window * ${microsecond} + interval '1 second'`

/**
 * By how many microseconds the starts are ahead of an even spread. After the clock was set back one may start at once, so that nothing
 * stands still until it has caught up.
 */
export const startsAhead = part`(case
    when ${wasSetBack} then g.rate_window - g.rate_gap
    else greatest(0, (extract(epoch from g.next_at - clock_timestamp()) * 1000000)::bigint) end)`

/** Runs that may start now; null behind a gate without limits. */
export const freeStarts = part`least(g.places - g.held, (g.rate_window - ${startsAhead}) / g.rate_gap)::integer`

/**
 * What `next_at` becomes after a number of starts. It is not computed from `startsAhead` and the time: what passes between two
 * readings of the clock, milliseconds on a busy machine, would be given away with each claim.
 */
export const nextAtAfter = (count: Part): Part =>
  part`(case when ${wasSetBack} then clock_timestamp() + (g.rate_window - g.rate_gap) * ${microsecond}
    else greatest(g.next_at, clock_timestamp()) end) + ${count} * g.rate_gap * ${microsecond}`

/** What `next_at` becomes under a new window: no further ahead than that. */
export const nextAtWithin = (window: Part): Part =>
  part`case when g.next_at > clock_timestamp() + ${window} * ${microsecond} then clock_timestamp() + ${window} * ${microsecond} else g.next_at end`

/** When the next run may start; null when one may start now. */
export const nextStartAt = part`(case when ${startsAhead} > g.rate_window - g.rate_gap
    then clock_timestamp() + (${startsAhead} - g.rate_window + g.rate_gap) * ${microsecond} end)`

/** The window of a gap and a burst, which may be null. */
export const windowOf = (gap: Part, burst: Part): Part =>
  part`coalesce(${burst}, greatest(1, ${DEFAULT_BURST_MS * 1_000}::bigint / ${gap})) * ${gap}`

/** The gap of a rate in microseconds. */
export const gapOf = (rate: string | null | undefined): number | null =>
  rate == null ? null : rateGapUs(rate)
