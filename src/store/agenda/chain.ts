import { type Part, part } from '../database/sql.ts'

/** The parts from which the next row of a chain is built. */
export interface ChainEnd {
  /**
   * The ended rows as `e`, and the current `version` and `definition` of their task as `c`: `from ended e join … c`. The tasks
   * must be locked before, as an edit locks them.
   */
  readonly from: Part
  /** The id of the next run. */
  readonly id: Part
  /** When the run ended; the delay is counted from there. */
  readonly endedAt: Part
}

/**
 * `next_of_chain`: how a `delay` task continues when a run ends. The next run is due one delay after the end of the last one,
 * unless that is after `endAt` or exceeds `maxRuns`. `nextOfDelay` in core/schedule/occurrences.ts computes the same instant.
 */
export const nextOfChain = ({ from, id, endedAt }: ChainEnd): Part => part`next_of_chain as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal, ordinal_base, lane, priority, delay_ms)
    select ${id}, e.task_id, e.project_id, e.shard, due.at, due.at, c.version, part_of_count(next.n), base_of_count(next.n), e.lane, e.priority, e.delay_ms
    ${from}
    cross join lateral (select count_of(e.ordinal_base, e.ordinal) + 1 as n) next
    cross join lateral (select date_trunc('milliseconds', ${endedAt} + e.delay_ms * interval '1 millisecond') as at) due
    where e.delay_ms is not null
      and (c.definition ->> 'endAt' is null or due.at <= (c.definition ->> 'endAt')::timestamptz)
      and (c.definition ->> 'maxRuns' is null or next.n <= (c.definition ->> 'maxRuns')::integer)
    on conflict on constraint agenda_occurrence_is_unique do nothing
    returning shard, wake_at
  )`
