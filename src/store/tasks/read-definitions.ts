/**
 * Reads the definitions of runs. A definition may be a thousand times as long as most, so no statement reads many of them
 * without knowing their lengths: a large one is read in brief, and completely only by the worker that performs the run.
 */
import { largeAction } from '../../core/action/large-action.ts'
import type { KeptDefinition } from '../../core/task/task.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { LARGE_BYTES, type StoredDefinition, wholeDefinition } from './stored-definition.ts'

/** Identifies one version of a definition. */
export interface DefinitionKey {
  readonly taskId: string
  readonly version: number
}

/** `d.definition` and `d.brief` of each key `i`: of the current version, or of one that an edit has replaced. */
const definitionsOf = (keys: readonly DefinitionKey[]) => part`
  unnest(${list(keys, (k) => k.taskId)}::uuid[], ${list(keys, (k) => k.version)}::integer[])
    with ordinality as i(task_id, version, n)
  left join task t on t.id = i.task_id
  cross join lateral (
    select case when t.version = i.version then t.definition
           else (select definition from task_version v where v.task_id = i.task_id and v.version = i.version) end as definition,
           case when t.version = i.version then t.brief
           else (select brief from task_version v where v.task_id = i.task_id and v.version = i.version) end as brief
  ) d`

/**
 * A definition as read, without its action if it is large; or its length if it is large and has no brief form. Both are null if
 * the task no longer exists.
 */
export interface ReadDefinition {
  readonly definition: KeptDefinition | null
  readonly unopenedBytes: number | null
}

/**
 * Returns definitions in the order of the keys. They are transferred as one JSON array, with large ones in brief: one parse for
 * a batch instead of a thousand.
 */
export const readDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(selectDefinitions(keys), ([answer]): ReadDefinition[] =>
    (JSON.parse(answer?.definitions ?? '[]') as (BriefDefinition | number | null)[]).map((read) =>
      typeof read === 'number'
        ? { definition: null, unopenedBytes: read }
        : { definition: read && keptDefinition(read, read.bytes), unopenedBytes: null },
    ),
  )

/** A stored definition, or its brief form, which includes the length of the whole. */
type BriefDefinition = StoredDefinition & { readonly bytes?: number }

/**
 * Most definitions are short and current: for these, nothing else is read, since each run of a one-off reads its definition
 * once.
 */
const selectDefinitions = (keys: readonly DefinitionKey[]) => sql<{ definitions: string }>`
  select '[' || string_agg(coalesce(case
           when t.version = i.version and t.brief is null and pg_column_size(t.definition) <= ${LARGE_BYTES}::integer
                and pg_column_compression(t.definition) is null then t.definition::text
           else (
             select case when bytes <= ${LARGE_BYTES}::integer or is_brief then definition_in_brief(definition, brief, i.version)::text else bytes::text end
             from (
               select definition, brief, definition_bytes(definition, brief, i.version) as bytes, (brief ->> 'version')::integer = i.version as is_brief
               from (select t.definition, t.brief where t.version = i.version
                     union all select v.definition, v.brief from task_version v
                     where t.version <> i.version and v.task_id = i.task_id and v.version = i.version) one
             ) measured)
           end, 'null'), ',' order by i.n) || ']' as definitions
  from unnest(${list(keys, (k) => k.taskId)}::uuid[], ${list(keys, (k) => k.version)}::integer[])
    with ordinality as i(task_id, version, n)
  left join task t on t.id = i.task_id`

/**
 * Returns large definitions without a brief form, without most of their actions and without metadata. Decompressing and parsing
 * them takes time, so the caller must limit their total length.
 */
export const readLargeDefinitions = (keys: readonly (DefinitionKey & { readonly bytes: number })[]) =>
  reading(selectLargeDefinitions(keys), (rows) =>
    rows.map(({ definition }, i) => ({
      definition: definition && keptDefinition(JSON.parse(definition), keys[i]?.bytes ?? 0),
      bytes: definition?.length ?? 0,
    })),
  )

const selectLargeDefinitions = (keys: readonly DefinitionKey[]) => sql<{ definition: string | null }>`
  select (select json_object_agg(e.key, case e.key when 'action' then (
                   select json_object_agg(m.key, m.value) from json_each(e.value) m where m.key in ('type', 'name', 'url', 'command')
                 ) else e.value end)
          from json_each(d.definition) e
          where e.key <> 'metadata')::text as definition
  from ${definitionsOf(keys)}
  order by i.n`

function keptDefinition(stored: StoredDefinition, largeBytes: number | undefined): KeptDefinition {
  if (largeBytes === undefined) return wholeDefinition(stored)
  const definition = wholeDefinition(stored)
  return { ...definition, action: largeAction(definition.action, largeBytes) }
}

/** Returns whole definitions, whatever their length: the caller must know their total length. */
export const readWholeDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(
    sql<{
      definition: StoredDefinition | null
    }>`select d.definition from ${definitionsOf(keys)} order by i.n`,
    (rows) => rows.map(({ definition }) => ({ definition: definition && wholeDefinition(definition) })),
  )
