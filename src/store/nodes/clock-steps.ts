/** Steps of the database's clock, as nodes noticed them. */
import { sql } from '../database/sql.ts'

/** Two nodes that notice a step of the same size within this time have noticed the same step. */
const SAME_WITHIN_MS = 10_000
/** Each node measures the step to within its own round trip. */
const SAME_LENGTH_MS = 100

/** Records a step unless another node has. */
export const insertClockStep = (step: { id: string; nodeId: string; byMs: number }) => sql`
  insert into clock_step (id, node_id, by_ms)
  select ${step.id}::uuid, ${step.nodeId}::uuid, round(${step.byMs}::float8)
  where not exists (
    select from clock_step
    where noticed_at > clock_timestamp() - ${SAME_WITHIN_MS}::integer * interval '1 millisecond' and noticed_at <= clock_timestamp()
      and abs(by_ms - ${step.byMs}::float8) < ${SAME_LENGTH_MS}::integer)`

/** A step as read. */
export interface ClockStepRow {
  readonly noticedAt: number
  readonly byMs: number
  /** Number of steps within the last day, including this one. */
  readonly count: number
}

/** Returns the latest step of the last day; no row if there was none. */
export const latestClockStep = () => sql<ClockStepRow>`
  select noticed_at as "noticedAt", by_ms as "byMs", count(*) over ()::integer as count
  from clock_step where noticed_at > now() - interval '1 day' order by noticed_at desc limit 1`

export const deleteOldClockSteps = (olderThanDays: number) => sql`
  delete from clock_step where noticed_at < now() - make_interval(days => ${olderThanDays}::integer)`
