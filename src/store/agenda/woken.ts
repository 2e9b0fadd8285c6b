import { part } from '../database/sql.ts'

/**
 * `woken`: the first of the held runs that waited for those in `ended`, woken by their end. They are locked in the order of
 * their ids, so that two such statements do not deadlock.
 */
export const wokenByEnds = part`woken as (
    update agenda set wake_at = date_trunc('milliseconds', clock_timestamp()), fence = fence + 1
    where state = 'held' and run_id = any(array(
      select first.run_id from (select distinct task_id from ended where awaited) t
      cross join lateral (
        select run_id from agenda where task_id = t.task_id and state = 'held'
        order by kind = 'catchup', scheduled_for, run_id limit 1
      ) first
      order by first.run_id))
    returning shard, wake_at
  )`
