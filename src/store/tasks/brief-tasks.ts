import type { TaskDefinition } from '../../core/task/task.ts'
import { reading, sql } from '../database/sql.ts'
import { LARGE_BYTES, type StoredDefinition, wholeDefinition } from './stored-definition.ts'
import { type TaskQuery, type TaskRow, tasksFound } from './tasks.ts'

/** A task as shown in compact lists. */
export interface BriefTask
  extends Pick<TaskRow, 'id' | 'owner' | 'state' | 'createdAt' | 'nextAt' | 'openRun'> {
  /** Of the action, only its type and its destination. */
  readonly definition: Pick<TaskDefinition, 'action' | 'schedule' | 'startAt'>
}

/** Returns the same tasks as `findTasks`, with only the fields shown: large definitions are not read completely. */
export const findBriefTasks = (q: TaskQuery) =>
  reading(selectBriefly(q), (rows): BriefTask[] =>
    rows.map((row) => ({ ...row, definition: wholeDefinition(row.definition) })),
  )

const selectBriefly = (q: TaskQuery) => sql<Omit<BriefTask, 'definition'> & { definition: StoredDefinition }>`
  select id, owner, state, "createdAt", "nextAt", "openRun",
         case when bytes <= ${LARGE_BYTES}::integer or (brief ->> 'version')::integer = version
              then definition_in_brief(definition, brief, version) else (
           select json_build_object('schedule', d.schedule, 'startAt', d."startAt", 'action', (
                    select json_object_agg(key, value) from json_each(d.action) where key in ('type', 'url', 'to', 'name', 'duration')))
           from json_to_record(definition) as d(action json, schedule json, "startAt" json)
         ) end as definition
  from (select found.*, definition_bytes(definition, brief, version) as bytes from (${tasksFound(q)}) found) measured
  order by id desc`
