/** Tens of thousands of unused queues: removed over many short passes, while lists stay fast. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { UnusedQueues } from '../../src/maintenance/unused-queues.ts'
import { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { listQueues } from '../../src/store/queues/queues.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { planOf } from '../support/plan.ts'

const { db, url } = await createTestDatabase()
/** PostgreSQL ends whatever takes longer than a second, and the pass fails with it. */
const hasty = new Database({
  url,
  applicationName: 'belfry test',
  maxConnections: 1,
  statementTimeoutMs: 1_000,
})
whenDone(() => hasty.close())

const QUEUES = 20_000
const KEYS = 20_000
const PAGE = 200

test('20 000 unused queues are removed with no statement over a second, and lists read only their page', async () => {
  await db.run(sql`
    insert into queue (project_id, name, used_at)
    select ${projectId}, 'tenant-' || n, now() - interval '31 days' from generate_series(1, ${QUEUES}::integer) n`)
  await db.run(
    sql`insert into gate (project_id, queue) select project_id, name from queue where name <> 'default'`,
  )
  await db.run(sql`
    insert into lane (id, project_id, queue, strict)
    select 1000 + 2 * n + s, ${projectId}, 'tenant-' || n, s = 1 from generate_series(1, ${QUEUES}::integer) n, generate_series(0, 1) s`)
  await db.run(sql`
    insert into gate (id, project_id, queue, key, places)
    select 1000000 + n, ${projectId}, 'tenant-1', 'customer-' || n, 1 from generate_series(1, ${KEYS}::integer) n`)
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select 0, 0, now(), gen_random_uuid() from generate_series(1, 100000)`)
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id) select 1000 + 2 * n, 0, now(), gen_random_uuid() from generate_series(5, 14) n`)
  // By what it knows then, the planner believes that every lane is full, and that a table read from end to end soon shows so.
  await db.run(sql`analyze queue, gate, lane, ready`)
  await db.run(sql`update audit_walk set complete_since = now() where name = 'queues'`)
  const unused = new UnusedQueues({ db: hasty, log: silentLogger(), days: 30 })

  let passes = 1
  while (await unused.runOnce()) passes += 1

  expect(passes).toBeLessThanOrEqual(QUEUES / 100 + KEYS / 5_000 + 2)
  const left = await db.run(sql`select name from queue where name <> 'default'`)
  expect(left).toHaveLength(10)
  const statement = listQueues({ projectId, part: null, after: 'default', limit: PAGE })
  // Index entries of rows that are gone cost a look at a page each, until somebody has met them once or a vacuum has.
  await db.snapshot((tx) => tx.run(statement), { inOrder: true })
  const plan = await db.snapshot((tx) => planOf(tx, statement), { inOrder: true })
  expect(plan.tablesRead.filter((table) => ['queue', 'lane', 'gate', 'ready'].includes(table))).toEqual([])
  expect(plan.rows).toBeLessThan(10 * PAGE)
  expect(plan.pages).toBeLessThan(1_000)
})
