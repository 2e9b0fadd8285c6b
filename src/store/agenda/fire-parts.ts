/** Parts shared by the statements that fire rows. */

import { list, type Part, part } from '../database/sql.ts'
import { storedCount } from '../history/stored-count.ts'
import type { FireRequest } from './fire.ts'

/** `owned`: the shards that this node still owns. The key-share lock makes a new owner wait until the statement has ended. */
export const ownedShards = ({
  nodeId,
  shards,
}: Pick<FireRequest, 'nodeId' | 'shards'>) => part`owned as materialized (
    select id from shard
    where (id, fence) in (select * from unnest(${list(shards, (s) => s.id)}::smallint[], ${list(shards, (s) => s.fence)}::bigint[]))
      and owner = ${nodeId}::uuid
    for key share
  )`

/** `alive`: the worker that gets the runs that start; empty if it was declared dead or none is given. */
export const livingWorker = (workerId: string | null) => part`alive as materialized (
    select id from node where id = ${workerId}::uuid and dead_at is null for key share
  )`

type Firings = FireRequest['firings']

/** Columns `run_id, shard, fence, start_now, exclusive, side` of the rows to fire. */
export const firedColumns = (firings: Firings) => part`
      ${list(firings, (f) => f.row.runId)}::uuid[], ${list(firings, (f) => f.row.shard)}::smallint[],
      ${list(firings, (f) => f.row.fence)}::integer[],
      ${list(firings, (f) => f.startNow)}::boolean[], ${list(firings, (f) => f.decision.exclusive)}::boolean[],
      ${list(firings, (f) => f.side ?? null)}::bigint[]`

/** Columns `skip_id, reason, until_ms, count, run_for_ms, next_run_id, next_ms, is_last, next_jitter_ms, run_for_jitter_ms`. */
export const decidedColumns = (firings: Firings) => part`
      ${list(firings, (f) => f.decision.skip?.runId ?? null)}::uuid[], ${list(firings, (f) => f.decision.skip?.reason ?? null)}::text[],
      ${list(firings, (f) => f.decision.skip?.until ?? null)}::float8[], ${list(firings, (f) => storedCount(f.decision.skip?.count ?? null))}::integer[],
      ${list(firings, (f) => f.decision.runFor)}::float8[], ${list(firings, (f) => f.decision.next?.runId ?? null)}::uuid[],
      ${list(firings, (f) => f.decision.next?.at ?? null)}::float8[], ${list(firings, (f) => f.decision.isLast)}::boolean[],
      ${list(firings, (f) => f.decision.next?.jitterMs ?? null)}::integer[], ${list(firings, (f) => f.decision.runForJitterMs ?? null)}::integer[]`

/**
 * `next`: rows of next occurrences. `from` provides the decisions as `i`, and as `p` the rows that they follow, with the `count`
 * of the next row; `unless` tells which of them no row follows.
 */
export const insertedNext = ({
  from,
  unless,
}: {
  readonly from: Part
  readonly unless: Part
}): Part => part`next as (
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, jitter_ms, version, ordinal, ordinal_base, lane, priority, delay_ms)
    select i.next_run_id, p.task_id, p.project_id, p.shard, to_timestamp((i.next_ms + coalesce(i.next_jitter_ms, 0)) / 1000), to_timestamp(i.next_ms / 1000), i.next_jitter_ms,
           p.version, part_of_count(p.count), base_of_count(p.count), p.lane, p.priority, p.delay_ms
    from ${from}
    where i.next_run_id is not null and not ${unless}
    on conflict on constraint agenda_occurrence_is_unique do nothing
  )`

/**
 * `next`: the row of the next occurrence of each fired task. `decided` names the rows with the decisions, `fired` the rows that
 * run or wait; skipped rows are in `dropped`. A skipped occurrence does not count towards the ordinal, and a chain continues
 * when its run ends.
 */
export const nextRows = ({ decided, fired }: { readonly decided: Part; readonly fired: Part }): Part =>
  insertedNext({
    from: part`${decided} i
    join (
      select run_id, task_id, project_id, shard, version, count_of(ordinal_base, ordinal) + 1 as count, lane, priority, delay_ms, true as ran
      from ${fired}
      union all
      select run_id, task_id, project_id, shard, version, count_of(ordinal_base, ordinal), lane, priority, delay_ms, false from dropped
    ) p on p.run_id = i.run_id`,
    unless: part`(p.ran and (i.is_last or p.delay_ms is not null))`,
  })
