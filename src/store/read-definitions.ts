/**
 * Reading the definitions that runs belong to. A definition may be a thousand times as long as most are, so no statement
 * reads many of them without knowing how long they are: what is large is told by its length, and read in turn.
 */
import type { LargeAction } from '../core/action.ts'
import type { KeptDefinition, TaskDefinition } from '../core/task.ts'
import { list, part, reading, sql } from './sql.ts'
import { type StoredDefinition, wholeDefinition } from './stored-definition.ts'

/** Names one version of a definition. */
export interface DefinitionKey {
  readonly taskId: string
  readonly version: number
}

/** What is longer than this, in bytes, waits nowhere in memory with its action. Most definitions have some hundred. */
export const LARGE_BYTES = 4_096

/**
 * `bytes` of a column `definition` of type json, without reading it: only what is stored compressed must be. A cast to text
 * reads the whole of it, and a small one is never compressed.
 */
export const definitionBytes = part`case when pg_column_compression(definition) is null then pg_column_size(definition)
                else octet_length(definition::text) end`

/** A column `definition` that is only asked when its runs are due: a large one without its action and metadata. */
export const withoutLargeAction = part`case when pg_column_compression(definition) is null and pg_column_size(definition) <= 4096 then definition
                else (select json_object_agg(key, value) from json_each(definition) where key not in ('action', 'metadata')) end`

/** `d.definition` of each key `i`: the current one, or the one that an edit has since replaced. */
const definitionsOf = (keys: readonly DefinitionKey[]) => part`
  unnest(${list(keys, (k) => k.taskId)}::uuid[], ${list(keys, (k) => k.version)}::integer[])
    with ordinality as i(task_id, version, n)
  left join task t on t.id = i.task_id
  cross join lateral (
    select case when t.version = i.version then t.definition
           else (select definition from task_version v where v.task_id = i.task_id and v.version = i.version) end as definition
  ) d`

/** A definition that was read, or how long it is when it is large; neither where the task is gone. */
export interface ReadDefinition {
  readonly definition: TaskDefinition | null
  readonly largeBytes: number | null
}

/**
 * Definitions in the order asked. They come as one JSON array, in which a large one is its length: a batch is read by one
 * parse instead of a thousand.
 */
export const readDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(selectDefinitions(keys), ([answer]): ReadDefinition[] =>
    (JSON.parse(answer?.definitions ?? '[]') as (StoredDefinition | number | null)[]).map((stored) =>
      typeof stored === 'number'
        ? { definition: null, largeBytes: stored }
        : { definition: stored && wholeDefinition(stored), largeBytes: null },
    ),
  )

const selectDefinitions = (keys: readonly DefinitionKey[]) => sql<{ definitions: string }>`
  select '[' || string_agg(coalesce(case when bytes > ${LARGE_BYTES}::integer then bytes::text else definition::text end, 'null'),
                           ',' order by n) || ']' as definitions
  from (select n, definition, ${definitionBytes} as bytes from (select i.n, d.definition from ${definitionsOf(keys)}) found) read`

/** Definitions that are large, without their actions and metadata. Opening them takes time, so they must not be too many bytes together. */
export const readLargeDefinitions = (keys: readonly (DefinitionKey & { readonly bytes: number })[]) =>
  reading(selectLargeDefinitions(keys), (rows) =>
    rows.map(({ definition }, i) => ({
      definition: definition && keptDefinition(JSON.parse(definition), keys[i]?.bytes ?? 0),
      bytes: definition?.length ?? 0,
    })),
  )

const selectLargeDefinitions = (keys: readonly DefinitionKey[]) => sql<{ definition: string | null }>`
  select (select json_object_agg(e.key, case e.key when 'action' then (
                   select json_object_agg(m.key, m.value) from json_each(e.value) m where m.key in ('type', 'name')
                 ) else e.value end)
          from json_each(d.definition) e
          where e.key <> 'metadata')::text as definition
  from ${definitionsOf(keys)}
  order by i.n`

function keptDefinition(stored: StoredDefinition, largeBytes: number): KeptDefinition {
  const { type, name } = stored.action as unknown as LargeAction
  return { ...wholeDefinition(stored), action: { type, ...(name === undefined ? {} : { name }), largeBytes } }
}

/** Whole definitions, however long: whoever asks for them knows how long they are together. */
export const readWholeDefinitions = (keys: readonly DefinitionKey[]) =>
  reading(
    sql<{
      definition: StoredDefinition | null
    }>`select d.definition from ${definitionsOf(keys)} order by i.n`,
    (rows) => rows.map(({ definition }) => ({ definition: definition && wholeDefinition(definition) })),
  )
