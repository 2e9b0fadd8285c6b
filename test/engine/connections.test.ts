/** What a node promises is kept while clients use up every connection that requests have. */
import { expect, test } from 'vitest'
import { REQUEST_CONNECTIONS } from '../../src/node/connections.ts'
import { Database } from '../../src/store/database/database.ts'
import { type Statement, sql } from '../../src/store/database/sql.ts'
import { aNode } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const outside = new Database({
  url: database.url,
  applicationName: 'belfry test',
  maxConnections: 1,
  statementTimeoutMs: 30_000,
})
whenDone(() => outside.close())

const SLEEP = { type: 'sleep', duration: '0s' }
/** Waits until a statement answers with a row. */
const found = (statement: Statement<unknown>) => eventually(async () => (await outside.run(statement))[0])

/** Every connection for requests is taken, as by that many clients of lists that do not end. */
function takeAllConnections(): () => Promise<unknown> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  const held = Array.from({ length: REQUEST_CONNECTIONS }, () =>
    database.db.transaction(async (tx) => {
      await tx.run(sql`select 1`)
      await released
    }),
  )
  return () => {
    release()
    return Promise.all(held)
  }
}

test('reaper, expiry, tally, housekeeping, duties, subscriptions and remote workers have their own connections', async () => {
  const sink = await startSink()
  const before = await startTestNode(database, { roles: 'api,scheduler' })
  const create = async (fields: Record<string, unknown>) =>
    (await before.request('POST', '/v1/tasks', { action: SLEEP, ...fields })).body.id as string
  const [lost, unserved, paused, remote] = [
    await create({ labels: ['nobody has this'] }),
    await create({ labels: ['nobody has this'], queueTimeout: '1h' }),
    await create({ schedule: { type: 'every', interval: '1h' } }),
    await create({ action: { type: 'handler', name: 'resize' } }),
  ]
  await before.request('POST', `/v1/tasks/${paused}/pause`, {
    until: new Date(Date.now() + 3_600_000).toISOString(),
  })
  const subscription = await before.request('POST', '/v1/subscriptions', { url: sink.url })
  expect(subscription.status, JSON.stringify(subscription.body)).toBe(201)
  await found(sql`select 1 from agenda where state = 'pending' having count(*) = 3`)
  await before.stop()
  const dead = await aNode(outside)
  await outside.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${dead}`)
  await outside.run(sql`
    with taken as (
      update agenda set state = 'running', worker_id = ${dead}, claimed_at = now(), fence = fence + 1, attempt = 1
      where task_id = ${lost} returning run_id
    )
    delete from ready where run_id in (select run_id from taken)`)
  await outside.run(sql`update expiry set expires_at = now()`)
  await outside.run(sql`update agenda set wake_at = now(), scheduled_for = now() where kind = 'resume'`)
  await outside.run(sql`update tally_progress set counted_until = now() - interval '5 minutes'`)
  const [partition] = await outside.run(sql<{ name: string }>`
    select max(c.relname) as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = 'attempt'::regclass`)
  await outside.run({ text: `drop table ${partition?.name}`, values: [] })

  const giveBack = takeAllConnections()
  whenDone(giveBack)
  const node = await startTestNode(database, { privateAddresses: 'allow' })
  const listed = node.request('GET', '/v1/tasks')

  const worker = await aWorker(node.url, { handlers: ['resize'] })
  const [run] = await worker.claim(1)
  expect(run?.taskId).toBe(remote)
  expect((await worker.say('heartbeat', { runs: [{ runId: run?.runId, fence: run?.fence }] })).status).toBe(
    200,
  )
  const report = { runId: run?.runId, fence: run?.fence, outcome: 'completed' }
  expect((await worker.say('complete', { runs: [report] })).status).toBe(200)

  await found(sql`select 1 from agenda where task_id = ${lost} and state = 'pending' and losses = 1`)
  await found(sql`select 1 from run where task_id = ${unserved} and state = 'skipped'`)
  await found(sql`select 1 from task where id = ${paused} and paused_at is null`)
  await found(sql`select 1 from tally_progress where counted_until > now() - interval '4 minutes'`)
  await found(sql`select 1 where to_regclass(${partition?.name}) is not null`)
  await eventually(async () => sink.hits.some(({ body }) => body.includes(remote)))
  expect(await Promise.race([listed, 'still waiting'])).toBe('still waiting')

  await giveBack()
  expect((await listed).status).toBe(200)
})
