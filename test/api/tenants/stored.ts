/** What is stored of a project, and how much is stored at all: a request about others must leave both as they are. */
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'

/** Returns a function that counts the rows of every table, by the name of the table. */
export async function tableCounter(db: Database) {
  const tables = await db.run(sql<{ name: string }>`
    select quote_ident(relname) as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition order by 1`)
  const counts = tables.map(({ name }) => `'${name}', (select count(*) from ${name})`)
  // A function of SQL takes a hundred arguments at most.
  const parts = [counts.slice(0, 40), counts.slice(40)].map((some) => `jsonb_build_object(${some.join()})`)
  const statement = { text: `select ${parts.join(' || ')} as counts`, values: [] }
  return async (): Promise<Readonly<Record<string, number>>> => {
    const [row] = await db.run<{ counts: Record<string, number> }>(statement)
    return row?.counts ?? {}
  }
}

/** Which tables have more or fewer rows than before. */
export const differenceOf = (
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
): string =>
  Object.entries(after)
    .filter(([table, count]) => count !== before[table])
    .map(([table, count]) => `${table} ${count - (before[table] ?? 0)}`)
    .join()

/** Everything that is stored of a project. When a key or a worker was seen last is no secret of its project. */
export async function digestOf(db: Database, project: string): Promise<Readonly<Record<string, string>>> {
  const tables = await db.run(sql<{ name: string }>`
    select quote_ident(table_name) as name from information_schema.columns c
    join pg_class on relname = table_name and relnamespace = 'public'::regnamespace and not relispartition
    where table_schema = 'public' and column_name = 'project_id' order by 1`)
  const digests: Record<string, string> = {}
  for (const { name } of tables) {
    const [row] = await db.run<{ digest: string | null }>({
      text: `
        select md5(string_agg(text, ',' order by text)) as digest
        from (select (to_jsonb(t) - 'last_used_at')::text as text from ${name} t
              where project_id = (select id from project where name = $1)) rows`,
      values: [project],
    })
    digests[name] = row?.digest ?? ''
  }
  return digests
}
