/**
 * Shows where the database spends its time, by statement: `--statements` with any benchmark. Counting has a cost, so quoted
 * figures come from a run without it.
 */
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { type Column, tableOf } from './report.ts'

/** What the server must be started with to keep count. */
export const COUNTING = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_planning': 'on',
}

/** The cost of one statement over all its calls. */
interface StatementCost {
  readonly calls: number
  readonly planMs: number
  readonly executeMs: number
  readonly buffers: number
  readonly walBytes: number
  readonly text: string
}

const SHOWN = 15
const TEXT_LENGTH = 90

const COLUMNS: readonly Column<StatementCost>[] = [
  { title: 'calls', of: (row) => row.calls },
  { title: 'plan ms', of: (row) => row.planMs },
  { title: 'execute ms', of: (row) => row.executeMs },
  { title: 'buffers', of: (row) => row.buffers },
  { title: 'WAL kB', of: (row) => row.walBytes / 1000 },
  { title: 'statement', of: (row) => row.text },
]

let isWanted = false

export const areStatementsWanted = () => isWanted

export function wantStatements(): void {
  isWanted = true
}

export async function resetStatements(db: Database): Promise<void> {
  await db.run(sql`create extension if not exists pg_stat_statements`)
  await db.run(sql`select pg_stat_statements_reset()`)
}

export async function printStatements(db: Database): Promise<void> {
  const rows = await db.run(sql<StatementCost>`
    select calls::float8, total_plan_time as "planMs", total_exec_time as "executeMs",
           shared_blks_hit::float8 + shared_blks_read as buffers, wal_bytes::float8 as "walBytes",
           left(regexp_replace(query, '[[:space:]]+', ' ', 'g'), ${TEXT_LENGTH}::integer) as text
    from pg_stat_statements
    where dbid = (select oid from pg_database where datname = current_database())
    order by total_plan_time + total_exec_time desc limit ${SHOWN}`)
  process.stderr.write(`\nWhat the statements cost\n${tableOf(COLUMNS, rows)}\n\n`)
}
