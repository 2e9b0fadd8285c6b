import pg from 'pg'
import { list, sql } from '../../src/store/database/sql.ts'
import { PostgresTransport } from '../../src/transport/postgres/postgres-transport.ts'
import { transportSuite } from './transport-suite.ts'

/** All that it knows is in PostgreSQL: there is nothing to wait for, and all it can lose is its connections. */
transportSuite('postgres', async (url) => ({
  connect: async (db) => new PostgresTransport(db),
  settled: async () => {},
  drop: async (db, runs) => {
    await db.run(sql`delete from ready where run_id = any(${list(runs, ({ runId }) => runId)}::uuid[])`)
  },
  forget: async () => {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    )
    await client.end()
  },
  stop: async () => {},
}))
