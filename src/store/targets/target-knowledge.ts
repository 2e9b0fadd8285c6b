/** Reads, in one statement, what nodes need to know about targets from time to time. */
import { reading, sql } from '../database/sql.ts'
import { openCircuits, type SharedCircuitRow } from './target-circuits.ts'
import type { TargetSettingRow } from './target-settings.ts'

/** Maximum number of circuits that a node reads; it finds the others by making calls. */
const MAX_SHARED = 1_000

/** The parts of a setting that matter for calls. */
export type KnownSetting = Pick<TargetSettingRow, 'projectId' | 'pattern' | 'limit' | 'rate' | 'burst'> & {
  readonly isPaused: boolean
}

/** The settings of users, the circuits that other nodes keep open, and the number of workers that share the rates. */
export interface TargetKnowledge {
  readonly settings: readonly KnownSetting[]
  readonly circuits: readonly SharedCircuitRow[]
  readonly workers: number
}

export const readTargetKnowledge = (nodeId: string) =>
  reading(
    sql<{ settings: string; circuits: string; workers: number }>`
      with ${openCircuits}
      select coalesce((
               select json_agg(json_build_object('projectId', project_id, 'pattern', pattern, 'limit', call_limit, 'rate', rate,
                                                 'burst', burst, 'isPaused', paused_at is not null) order by project_id, pattern)
               from target_setting), '[]')::text as settings,
             coalesce((
               select json_agg(json_build_object('projectId', project_id, 'target', target, 'openedAt', extract(epoch from opened_at) * 1000,
                                                 'until', extract(epoch from until) * 1000, 'error', error) order by until desc)
               from (select * from open_circuits where node_id <> ${nodeId}::uuid order by until desc limit ${MAX_SHARED}) c), '[]')::text as circuits,
             (select count(*)::integer from node where dead_at is null and 'worker' = any(roles)) as workers`,
    (rows) =>
      rows.map(
        ({ settings, circuits, workers }): TargetKnowledge => ({
          settings: JSON.parse(settings),
          circuits: JSON.parse(circuits),
          workers,
        }),
      ),
  )
