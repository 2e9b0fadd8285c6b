/**
 * Reading the definitions that runs belong to. A definition may be a thousand times as long as most are, so no statement
 * reads many of them without knowing how long they are: what is large is told in brief, and read whole by whoever performs it.
 */
import { largeAction } from '../../core/action/large-action.ts'
import type { KeptDefinition } from '../../core/task/task.ts'
import { list, part, reading, sql } from '../database/sql.ts'
import { LARGE_BYTES, type StoredDefinition, wholeDefinition } from './stored-definition.ts'

/** Names one version of a definition. */
export interface DefinitionKey {
  readonly taskId: string
  readonly version: number
}

/** `d.definition` and `d.brief` of each key `i`: the current one, or the one that an edit has since replaced. */
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

/** A definition that was read, without its action when it is large; or how long it is when it has to be opened. Neither where the task is gone. */
export interface ReadDefinition {
  readonly definition: KeptDefinition | null
  readonly unopenedBytes: number | null
}

/**
 * Definitions in the order asked. They come as one JSON array, in which a large one is told in brief: a batch is read by one
 * parse instead of a thousand.
 */
export const readDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(selectDefinitions(keys), ([answer]): ReadDefinition[] =>
    (JSON.parse(answer?.definitions ?? '[]') as (BriefDefinition | number | null)[]).map((read) =>
      typeof read === 'number'
        ? { definition: null, unopenedBytes: read }
        : { definition: read && keptDefinition(read, read.bytes), unopenedBytes: null },
    ),
  )

/** What is stored of a definition, or told of it in brief: then it says how long all of it is. */
type BriefDefinition = StoredDefinition & { readonly bytes?: number }

/** Most are short and current: of these nothing else is asked, as each run of a one-off reads its definition once. */
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

/** Definitions that are large and not told in brief, without their actions and metadata. Opening them takes time, so they must not be too many bytes together. */
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

/** Whole definitions, however long: whoever asks for them knows how long they are together. */
export const readWholeDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(
    sql<{
      definition: StoredDefinition | null
    }>`select d.definition from ${definitionsOf(keys)} order by i.n`,
    (rows) => rows.map(({ definition }) => ({ definition: definition && wholeDefinition(definition) })),
  )
