import { expect, test } from 'vitest'
import { steadyClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { startTestNode } from '../../test/support/node.ts'
import { aWorker, type GivenRun } from '../../test/support/remote-worker.ts'
import { sql } from '../store/database/sql.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { Overruns } from './overruns.ts'

const database = await createTestDatabase()
const { db } = database
// Without liveness, which would look for overruns itself.
const node = await startTestNode(database, { roles: 'api,scheduler' })
const overruns = new Overruns({
  leaseMs: 15_000,
  db,
  definitions: new Definitions(db),
  wakeUps: new LocalWakeUps(),
  clock: steadyClock(),
  log: silentLogger(),
})
overruns.start()
// Its own first pass finds nobody; from here on the tests call it.
await overruns.runOnce()

let names = 0
async function aRun(fields: Record<string, unknown> = {}) {
  const name = `overrun-${++names}`
  await node.request('POST', '/v1/tasks', { action: { type: 'handler', name }, timeout: '1m', ...fields })
  const worker = await aWorker(node.url, { handlers: [name] })
  const [run] = (await worker.claim(1)) as [GivenRun]
  return { worker, run }
}
const runOf = async ({ runId }: GivenRun) => (await node.request('GET', `/v1/runs/${runId}`)).body
/** Moves the data, not the clock. */
const claimedAgo = ({ runId }: GivenRun, seconds: number) =>
  db.run(sql`
    update agenda set claimed_at = now() - make_interval(secs => ${seconds}), wake_at = now() - make_interval(secs => ${seconds}),
      scheduled_for = now() - make_interval(secs => ${seconds})
    where run_id = ${runId}`)

test('an attempt that its worker does not stop at its timeout is ended, and a later report is ignored', async () => {
  const { worker, run } = await aRun({ retry: { limit: 0 } })
  await claimedAgo(run, 71)

  await overruns.runOnce()

  expect(await runOf(run)).toMatchObject({
    state: 'permanently_failed',
    error: { code: 'timed_out' },
    attempts: [{ outcome: 'timed_out' }],
  })
  const { runId, fence } = run
  const beat = await worker.say('heartbeat', { runs: [{ runId, fence }] })
  expect(beat.body).toEqual({ cancelled: [], lost: [runId] })
  await worker.say('complete', { runs: [{ runId, fence, outcome: 'completed' }] })
  expect(await runOf(run)).toMatchObject({ state: 'permanently_failed' })
})

test('a run ended this way is retried as the task defines', async () => {
  const { run } = await aRun({ retry: { limit: 1, initial: '1h', max: '1h' } })
  await claimedAgo(run, 71)

  await overruns.runOnce()

  expect(await runOf(run)).toMatchObject({ state: 'retrying', attempts: [{ outcome: 'timed_out' }] })
})

test('an attempt within its timeout, or just over it, is left to its worker', async () => {
  const [within, justOver] = [await aRun(), await aRun()]
  await claimedAgo(within.run, 50)
  await claimedAgo(justOver.run, 65)

  await overruns.runOnce()
  await overruns.runOnce()

  for (const { run } of [within, justOver]) expect(await runOf(run)).toMatchObject({ state: 'running' })
})

test('a cancellation that the worker ignores is carried out', async () => {
  const { run } = await aRun()
  await node.request('POST', `/v1/runs/${run.runId}/cancel`)
  await overruns.runOnce()
  expect(await runOf(run)).toMatchObject({ state: 'running' })

  await db.run(sql`update agenda set cancel_at = now() - interval '11 seconds' where run_id = ${run.runId}`)
  await overruns.runOnce()

  expect(await runOf(run)).toMatchObject({ state: 'cancelled' })
})
