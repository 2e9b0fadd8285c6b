/**
 * What nodes report about the targets they call, for users to see. A node writes the lines that have changed; a report about an
 * idle line stays valid, any other report only as long as it is renewed.
 */
import type { LineState } from '../../core/target/target-state.ts'
import { list, part, sql } from '../database/sql.ts'

/** Time within which a report about a line that is not idle must be renewed. */
export const REPORT_COUNTS_MS = 15_000
/** How long idle targets are shown. */
export const IDLE_COUNTS_MINUTES = 10

/** A line of a node. */
export interface ReportedLine {
  readonly projectId: string
  readonly target: string
  readonly isIdle: boolean
  readonly state: LineState
}

/** Writes lines of a node, replacing its earlier reports about them. */
export const writeTargetReports = (nodeId: string, lines: readonly ReportedLine[]) => sql`
  insert into target_report (project_id, target, node_id, is_idle, state)
  select i.project_id, i.target, ${nodeId}::uuid, i.is_idle, i.state
  from unnest(${list(lines, (line) => line.projectId)}::uuid[], ${list(lines, (line) => line.target)}::text[],
              ${list(lines, (line) => line.isIdle)}::boolean[], ${list(lines, (line) => JSON.stringify(line.state))}::jsonb[])
    as i(project_id, target, is_idle, state)
  order by i.project_id, i.target
  on conflict (project_id, target, node_id) do update set is_idle = excluded.is_idle, state = excluded.state, at = clock_timestamp()`

/** `counting`: the valid reports of living nodes. */
export const counting = part`counting as not materialized (
    select r.project_id, r.target, r.node_id, r.state, r.at, n.name from target_report r
    join node n on n.id = r.node_id and n.dead_at is null
    where r.at > clock_timestamp() - case when r.is_idle then make_interval(mins => ${IDLE_COUNTS_MINUTES}::integer)
                                          else make_interval(secs => ${REPORT_COUNTS_MS / 1_000}::float8) end
  )`

/** Deletes the reports of a node when it stops. */
export const dropTargetReports = (nodeId: string) => sql`delete from target_report where node_id = ${nodeId}`

/** Deletes reports that are no longer valid, and those of dead nodes. */
export const deleteStaleTargetReports = () => sql`
  delete from target_report r
  where r.at < clock_timestamp() - make_interval(mins => ${IDLE_COUNTS_MINUTES}::integer)
     or not exists (select from node where id = r.node_id and dead_at is null)
     or (not r.is_idle and r.at < clock_timestamp() - make_interval(secs => ${REPORT_COUNTS_MS / 1_000}::float8))`
