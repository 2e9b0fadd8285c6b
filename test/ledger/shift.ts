/** A long outage in no time: everything that is recorded moves into the past, and nobody was there since. */
import pg from 'pg'
import { eventually } from '../support/eventually.ts'

/** Counts by the minute of the wall clock, which would not be there any more. */
const LEFT_ALONE = ['tally', 'tally_progress', 'migration']

/**
 * Moves every instant in the database back. No node may be running. Where definitions name an end or a beginning it moves with
 * them, and grids stay where they are: the distance must be a multiple of every interval that tasks have.
 */
export async function shiftBack(url: string, byMs: number): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await untilAlone(client)
    await client.query('begin')
    const { rows: columns } = await client.query<{ table: string; columns: string[] }>(
      `select c.relname as table, array_agg(a.attname::text) as columns
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
         and a.atttypid = 'timestamptz'::regtype and a.attnum > 0 and not a.attisdropped and not c.relname = any($1)
       group by 1 order by 1`,
      [LEFT_ALONE],
    )
    const by = `interval '1 millisecond' * ${Math.round(byMs)}`
    for (const { table, columns: names } of columns)
      await client.query(`update ${table} set ${names.map((name) => `${name} = ${name} - ${by}`).join(', ')}`)
    const moved = (path: string) =>
      `to_char(((definition::jsonb ->> '${path}')::timestamptz - ${by}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
    for (const table of ['task', 'task_version'])
      for (const path of ['startAt', 'endAt'])
        await client.query(
          `update ${table} set definition = jsonb_set(definition::jsonb, '{${path}}', to_jsonb(${moved(path)}))::json
           where definition::jsonb ->> '${path}' is not null`,
        )
    for (const path of ['from', 'to'])
      await client.query(
        `update blackout set rule = jsonb_set(rule::jsonb, '{${path}}', to_jsonb(
           to_char(((rule::jsonb ->> '${path}')::timestamptz - ${by}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))::json
         where rule::jsonb ->> 'type' = 'range'`,
      )
    await client.query('commit')
  } finally {
    await client.end()
  }
}

/** What a node had asked for when it died may still be under way: a row of it that came after the shift would be left where it is. */
function untilAlone(client: pg.Client): Promise<unknown> {
  return eventually(
    async () => {
      const { rows } = await client.query<{ others: number }>(
        `select count(*)::integer as others from pg_stat_activity
         where datname = current_database() and backend_type = 'client backend' and application_name like 'belfry%'`,
      )
      return rows[0]?.others === 0
    },
    { withinMs: 60_000 },
  )
}
