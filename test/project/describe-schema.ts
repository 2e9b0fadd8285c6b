/**
 * A database's schema as SQL, read from the catalogs: in one order whatever order it was made in, in the
 * same words on every PostgreSQL from 15 on. Partitions are left out, because they come and go by the day.
 * What the catalogs hold and this does not know is an error, so that nothing can be missing in silence.
 */
import type { Queryable } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'

export async function describeSchema(db: Queryable): Promise<string> {
  await refuseUnknown(db)
  const tables = await Promise.all((await readTables(db)).map((table) => describeTable(db, table)))
  return [
    ...(await describeTypes(db)),
    ...(await describeSequences(db)),
    ...inOrderOfReference(tables).map(({ text }) => text),
    ...(await describeFunctions(db)),
    ...(await describeTriggers(db)),
  ].join('\n\n')
}

interface Kind {
  readonly what: string
}

/** Kinds of objects that nothing below describes. */
async function refuseUnknown(db: Queryable): Promise<void> {
  const unknown = await db.run(sql<Kind>`
    select format('relation %s of kind %s', relname, relkind) as what from pg_class
    where relnamespace = current_schema()::regnamespace and relkind not in ('r', 'p', 'i', 'I', 'S')
    union all
    select format('type %s', typname) from pg_type
    where typnamespace = current_schema()::regnamespace and typtype not in ('e', 'c') and typcategory <> 'A'
    union all
    select format('policy %s', polname) from pg_policy
    union all
    select format('statistics %s', stxname) from pg_statistic_ext
    union all
    select format('extension %s', extname) from pg_extension where extname <> 'plpgsql'
    union all
    select format('column %s of %s, which is computed', attname, attrelid::regclass) from pg_attribute a
    join pg_class c on c.oid = a.attrelid
    where c.relnamespace = current_schema()::regnamespace and (attgenerated <> '' or attidentity <> '')`)
  if (unknown.length === 0) return
  throw new Error(`cannot describe ${unknown.map(({ what }) => what).join(', ')}: teach describe-schema.ts`)
}

async function describeTypes(db: Queryable): Promise<string[]> {
  const types = await db.run(sql<{ name: string; labels: string[] }>`
    select t.typname as name, array_agg(quote_literal(e.enumlabel) order by e.enumsortorder)::text[] as labels
    from pg_type t join pg_enum e on e.enumtypid = t.oid
    where t.typnamespace = current_schema()::regnamespace
    group by t.typname order by t.typname collate "C"`)
  return types.map(({ name, labels }) => `create type ${name} as enum (${labels.join(', ')});`)
}

interface Sequence {
  readonly name: string
  readonly type: string
  readonly start: number
  readonly increment: number
}

async function describeSequences(db: Queryable): Promise<string[]> {
  const sequences = await db.run(sql<Sequence>`
    select c.relname as name, format_type(s.seqtypid, null) as type, s.seqstart as start, s.seqincrement as increment
    from pg_class c join pg_sequence s on s.seqrelid = c.oid
    where c.relnamespace = current_schema()::regnamespace
    order by c.relname collate "C"`)
  return sequences.map(({ name, type, start, increment }) => {
    const as = type === 'bigint' ? '' : ` as ${type}`
    const by = increment === 1 ? '' : ` increment by ${increment}`
    return `create sequence ${name}${as}${by}${start === 1 ? '' : ` start with ${start}`};`
  })
}

interface Table {
  readonly oid: number
  readonly name: string
  readonly options: string[] | null
  readonly partitionedBy: string | null
}

const readTables = (db: Queryable) =>
  db.run(sql<Table>`
    select c.oid, c.relname as name, c.reloptions as options,
           case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end as "partitionedBy"
    from pg_class c
    where c.relnamespace = current_schema()::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
    order by c.relname collate "C"`)

interface DescribedTable {
  readonly name: string
  readonly text: string
  /** Tables that must exist before it. */
  readonly references: readonly string[]
}

async function describeTable(db: Queryable, table: Table): Promise<DescribedTable> {
  const constraints = await readConstraints(db, table.oid)
  const columns = await readColumns(db, table.oid)
  const nameWidth = Math.max(...columns.map(({ name }) => name.length))
  const lines = [
    ...columns.map(({ name, type, isRequired, fallback }) =>
      [
        name.padEnd(nameWidth),
        ours(type),
        isRequired ? 'not null' : '',
        fallback === null ? '' : `default ${ours(fallback)}`,
      ]
        .filter((part) => part !== '')
        .join(' '),
    ),
    ...constraints.map(
      ({ name, definition, options }) => `constraint ${name} ${ours(definition)}${storage(options)}`,
    ),
  ]
  const partitioned = table.partitionedBy === null ? '' : ` partition by ${ours(table.partitionedBy)}`
  const body = `create table ${table.name} (\n  ${lines.join(',\n  ')}\n)${partitioned}${storage(table.options)};`
  const indexes = await readIndexes(db, table.oid)
  return {
    name: table.name,
    text: [body, ...indexes.map(({ definition }) => `${ours(definition)};`)].join('\n'),
    references: constraints.flatMap(({ references }) => references ?? []),
  }
}

interface Column {
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly fallback: string | null
}

const readColumns = (db: Queryable, table: number) =>
  db.run(sql<Column>`
    select a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as "isRequired",
           pg_get_expr(d.adbin, d.adrelid, true) as fallback
    from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = ${table} and a.attnum > 0 and not a.attisdropped
    order by a.attnum`)

interface Constraint {
  readonly name: string
  readonly definition: string
  readonly options: string[] | null
  readonly references: string | null
}

/** PostgreSQL 18 lists `not null` among the constraints too; the columns tell of it on every version. */
const readConstraints = (db: Queryable, table: number) =>
  db.run(sql<Constraint>`
    select c.conname as name, pg_get_constraintdef(c.oid, true) as definition, i.reloptions as options,
           case when c.confrelid <> c.conrelid then f.relname end as references
    from pg_constraint c
    left join pg_class i on i.oid = c.conindid and c.contype in ('p', 'u', 'x')
    left join pg_class f on f.oid = c.confrelid
    where c.conrelid = ${table} and c.contype in ('p', 'u', 'x', 'f', 'c')
    order by position(c.contype::text in 'puxfc'), c.conname collate "C"`)

/** Indexes that no constraint brings along. A partitioned table's own is said to be on `only` it. */
const readIndexes = (db: Queryable, table: number) =>
  db.run(sql<{ definition: string }>`
    select replace(pg_get_indexdef(i.indexrelid, 0, true), ' ON ONLY ', ' ON ') as definition
    from pg_index i join pg_class c on c.oid = i.indexrelid
    where i.indrelid = ${table} and not exists (select from pg_constraint where conindid = i.indexrelid and conrelid = i.indrelid)
    order by c.relname collate "C"`)

interface DescribedFunction {
  readonly name: string
  readonly kind: string
  readonly args: string
  readonly result: string
  readonly language: string
  readonly volatility: string
  readonly body: string
}

async function describeFunctions(db: Queryable): Promise<string[]> {
  const functions = await db.run(sql<DescribedFunction>`
    select p.proname as name, p.prokind::text as kind, pg_get_function_arguments(p.oid) as args,
           pg_get_function_result(p.oid) as result, l.lanname as language,
           case p.provolatile when 'i' then ' immutable' when 's' then ' stable' else '' end as volatility, p.prosrc as body
    from pg_proc p join pg_language l on l.oid = p.prolang
    where p.pronamespace = current_schema()::regnamespace
    order by p.proname collate "C"`)
  return functions.map(({ name, kind, args, result, language, volatility, body }) => {
    if (kind !== 'f') throw new Error(`cannot describe ${name}: it is not a plain function`)
    return `create function ${name}(${args}) returns ${result} language ${language}${volatility} as $$${body}$$;`
  })
}

/** Partitions have the triggers of their table. */
async function describeTriggers(db: Queryable): Promise<string[]> {
  const triggers = await db.run(sql<{ definition: string }>`
    select pg_get_triggerdef(t.oid, true) as definition from pg_trigger t join pg_class c on c.oid = t.tgrelid
    where c.relnamespace = current_schema()::regnamespace and not t.tgisinternal and t.tgparentid = 0
    order by t.tgname collate "C"`)
  return triggers.map(({ definition }) => `${ours(definition)};`)
}

/** By name, but never before what it refers to, so that the text can be run from top to bottom. */
function inOrderOfReference(tables: readonly DescribedTable[]): DescribedTable[] {
  const placed: DescribedTable[] = []
  const isPlaced = (name: string) => placed.some((table) => table.name === name)
  while (placed.length < tables.length) {
    const next = tables.find(({ name, references }) => !isPlaced(name) && references.every(isPlaced))
    if (!next) throw new Error('tables refer to one another in a circle')
    placed.push(next)
  }
  return placed
}

const MAX_OPTIONS_ON_A_LINE = 3

function storage(options: readonly string[] | null): string {
  if (options === null) return ''
  const list = options.map((option) => option.replace('=', ' = '))
  return list.length <= MAX_OPTIONS_ON_A_LINE
    ? ` with (${list.join(', ')})`
    : ` with (\n  ${list.join(',\n  ')}\n)`
}

/** In the project's words: keywords in lower case and short names; what stands in quotes stays as it is. */
function ours(text: string): string {
  const parts = text.split(/('(?:[^']|'')*')/)
  const words = parts.map((part) => (part.startsWith("'") ? part : part.toLowerCase()))
  return words.join('').replaceAll('timestamp with time zone', 'timestamptz').replace(' using btree', '')
}
