/** Targets as users see them: the reports of nodes, the waiting runs, and the open circuits. */
import type { CallError, LineState } from '../../core/target/target-state.ts'
import { MAX_WAITING_COUNTED } from '../../core/values/counted.ts'
import { part, sql } from '../database/sql.ts'
import { openCircuits } from './target-circuits.ts'
import { counting } from './target-reports.ts'

/** The report of one node about a target. */
export interface NodeLine {
  readonly nodeId: string
  readonly name: string
  /** When it was reported. */
  readonly at: number
  readonly state: LineState
}

/** A target, or a pattern with settings. */
export interface TargetRow {
  readonly target: string
  /** Number of runs that wait for room, counted up to a limit. */
  readonly waiting: number
  readonly oldest: number | null
  readonly nodes: readonly NodeLine[]
  /** When the circuit that has been open longest was opened; null if none is open. */
  readonly openedAt: number | null
  readonly until: number | null
  readonly error: CallError | null
}

/** The target that the runs of a side lane wait for, without the suffix for runs that opt out of its circuit. */
export const targetOfLine = part`split_part(l.line, ' ', 1)`

const targetColumns = part`
  select p.target, waiting.count as waiting, waiting.oldest, circuit.opened_at as "openedAt", circuit.until, circuit.error, coalesce(nodes.list, '[]') as nodes`

const whatIsKnown = (projectId: string) => part`
  cross join lateral (
    select count(*)::integer as count, min(wake_at) as oldest
    from (select r.wake_at from lane l
          cross join lateral (select wake_at from ready where lane = l.id limit ${MAX_WAITING_COUNTED}) r
          where l.project_id = ${projectId} and l.line in (p.target, p.target || ' always')
          limit ${MAX_WAITING_COUNTED}) counted
  ) waiting
  cross join lateral (
    select jsonb_agg(jsonb_build_object('nodeId', c.node_id, 'name', c.name, 'at', floor(extract(epoch from c.at) * 1000), 'state', c.state)
                     order by c.name, c.node_id) as list
    from counting c where c.project_id = ${projectId} and c.target = p.target
  ) nodes
  left join lateral (
    select opened_at, until, error from open_circuits c where c.project_id = ${projectId} and c.target = p.target order by opened_at limit 1
  ) circuit on true`

/** Which targets to read, in the order of their names. */
export interface TargetPage {
  readonly projectId: string
  /** Only targets whose name contains this, ignoring case. */
  readonly part: string | null
  /** Only targets after this name. */
  readonly after: string | null
  readonly limit: number
}

/** Returns a page of targets: those that nodes call, that runs wait for, whose circuit is open, or that have settings. */
export const listTargets = ({ projectId, part, after, limit }: TargetPage) => sql<TargetRow>`
  with ${counting}, ${openCircuits}, named as (
    select target from counting where project_id = ${projectId}
    union
    select target from open_circuits where project_id = ${projectId}
    union
    select pattern from target_setting where project_id = ${projectId}
    union
    select ${targetOfLine} from lane l
    where l.project_id = ${projectId} and l.line is not null and l.line <> 'local' and exists (select from ready where lane = l.id)
  ), page as materialized (
    select target from named
    where target collate "C" > ${after ?? ''} and (${part}::text is null or position(lower(${part}::text) in target) > 0)
    order by target collate "C" limit ${limit}
  )
  ${targetColumns} from page p ${whatIsKnown(projectId)}
  order by p.target collate "C"`

/** Returns one target, even if nothing is known about it. */
export const findTarget = ({ projectId, target }: { projectId: string; target: string }) => sql<TargetRow>`
  with ${counting}, ${openCircuits}
  ${targetColumns} from (select ${target}::text as target) p ${whatIsKnown(projectId)}`
