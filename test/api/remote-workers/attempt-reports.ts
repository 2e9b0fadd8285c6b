/** Heartbeats and results of single attempts, sent with their tokens: `/health_check` and `/update_status`. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { TokenAttempt } from '../../../src/core/access/token-attempt.ts'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { SilentAttempts } from '../../../src/remote/silent-attempts.ts'
import { AddressSigner } from '../../../src/secrets/address-signer.ts'
import { issueAttemptToken } from '../../../src/secrets/attempt-token.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { deleteOldBeats } from '../../../src/store/nodes/attempt-beats.ts'
import { silentLogger } from '../../../src/telemetry/logger.ts'
import { Definitions } from '../../../src/transport/definitions.ts'
import { LocalWakeUps } from '../../../src/transport/wake-ups.ts'
import { eventually } from '../../support/eventually.ts'
import { aWorker, type GivenRun, type HandWorker } from '../../support/remote-worker.ts'
import { request } from '../../support/request.ts'
import { aVault } from '../../support/vault.ts'
import { aName, completed, type Protocol } from './protocol.ts'

const HOUR_MS = 3_600_000
/** No retry comes by itself while a test looks. */
const LATER = { retry: { limit: 3, initial: '1h', max: '1h' } }

export function attemptReports({ db, node, other, create, runOf, bury }: Protocol): void {
  const clock = { now: () => Date.now() }
  const signer = async () => {
    const vault = aVault(db)
    await vault.runOnce()
    return new AddressSigner({ vault, clock })
  }
  const claimsOf = (worker: HandWorker, run: GivenRun): TokenAttempt => ({
    projectId: DEFAULT_PROJECT_ID,
    taskId: run.taskId,
    runId: run.runId,
    attempt: run.attempt,
    fence: run.fence,
    workerId: worker.id,
    hostId: randomUUID(),
    podName: 'worker-7f9c',
    tracingId: 'order-42',
  })
  const tokenFor = async (worker: HandWorker, run: GivenRun, lastsMs = HOUR_MS) =>
    issueAttemptToken(await signer(), claimsOf(worker, run), Date.now() + lastsMs)

  /** An attempt in progress, and how its performer speaks. */
  const anAttempt = async (fields: Record<string, unknown> = {}) => {
    const name = aName()
    const taskId = await create(name, { ...LATER, ...fields })
    const worker = await aWorker(node.url, { handlers: [name] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    const authorization = `Bearer ${await tokenFor(worker, run)}`
    const say = (path: string, body?: unknown, url = node.url) =>
      request(url, 'POST', path, body, { authorization })
    return { name, taskId, worker, run, authorization, say }
  }
  const beats = (runId: string) =>
    db.run(sql<{ fence: number; finished: boolean; podName: string }>`
      select fence, finished, pod_name as "podName" from attempt_beat where run_id = ${runId} order by fence`)
  const silentAfter = (leaseMs: number) =>
    new SilentAttempts({
      db,
      definitions: new Definitions(db),
      wakeUps: new LocalWakeUps(),
      clock,
      log: silentLogger(),
      everyMs: 10_000,
      leaseMs,
      batch: 100,
    })

  test('an attempt sends heartbeats and then its success, to any node', async () => {
    const { taskId, run, say } = await anAttempt()

    const first = await say('/health_check')
    const second = await say('/health_check', {}, other.url)
    const done = await say('/update_status', { status: 'success' }, other.url)

    expect(first).toMatchObject({
      status: 200,
      body: { task_id: taskId, pod_name: 'worker-7f9c', worker_finished: false },
    })
    expect(Date.parse(second.body.last_time_health_check)).toBeGreaterThanOrEqual(
      Date.parse(first.body.last_time_health_check),
    )
    expect(done).toMatchObject({ status: 200, body: { worker_finished: true, is_producible: false } })
    expect(await runOf(run)).toMatchObject({ state: 'completed', attempt: 1 })
    expect(await beats(run.runId)).toEqual([{ fence: run.fence, finished: true, podName: 'worker-7f9c' }])
  })

  test('a failure is retried while retries are left, and is final when they are used up', async () => {
    const retried = await anAttempt()
    const final = await anAttempt({ retry: { limit: 0 } })
    const failure = { status: 'failure', reason: 'exit code 3' }

    const answers = [
      await retried.say('/update_status', failure),
      await final.say('/update_status', { status: 'failure' }),
    ]

    expect(answers.map(({ status, body }) => [status, body.is_producible])).toEqual([
      [200, true],
      [200, false],
    ])
    expect(await runOf(retried.run)).toMatchObject({
      state: 'retrying',
      attempts: [{ outcome: 'failed', error: { code: 'program_failed', message: 'exit code 3' } }],
    })
    expect(await runOf(final.run)).toMatchObject({
      state: 'permanently_failed',
      error: { message: 'The program failed without a reason.' },
    })
  })

  test('late and doubled calls are refused and change nothing', async () => {
    const { worker, run, say } = await anAttempt()
    await say('/update_status', { status: 'failure', reason: 'first' })
    const before = await runOf(run)

    const answers = [
      await say('/update_status', { status: 'failure', reason: 'first' }),
      await say('/update_status', { status: 'success' }, other.url),
      await say('/health_check'),
    ]
    const { body } = await worker.say('complete', { runs: [completed(run)] })

    for (const answer of answers)
      expect(answer).toMatchObject({ status: 409, body: { code: 'attempt_ended' } })
    expect(body.runs).toMatchObject([{ recorded: false }])
    expect(await runOf(run)).toEqual(before)
    expect(await beats(run.runId)).toEqual([])
  })

  test('of several concurrent reports one counts', async () => {
    const { run, say } = await anAttempt()
    const urls = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? node.url : other.url))

    const answers = await Promise.all(
      urls.map((url, n) =>
        say('/update_status', n % 3 === 0 ? { status: 'failure' } : { status: 'success' }, url),
      ),
    )

    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(9).fill(409)])
    const { state } = await runOf(run)
    const wasSuccess = answers.findIndex(({ status }) => status === 200) % 3 !== 0
    expect(state).toBe(wasSuccess ? 'completed' : 'retrying')
  })

  test('an attempt of a dead worker gets 410, and the report of the next attempt counts', async () => {
    const { name, worker, say } = await anAttempt()
    await say('/health_check')
    await bury(worker.id)
    const successor = await aWorker(node.url, { handlers: [name] })
    const [again] = (await successor.claim(1)) as [GivenRun]

    const late = [await say('/health_check'), await say('/update_status', { status: 'success' })]
    const authorization = `Bearer ${await tokenFor(successor, again)}`
    const done = await request(node.url, 'POST', '/update_status', { status: 'success' }, { authorization })

    for (const answer of late) expect(answer).toMatchObject({ status: 410, body: { code: 'worker_gone' } })
    expect(done.status).toBe(200)
    expect(await runOf(again)).toMatchObject({
      state: 'completed',
      attempt: 2,
      losses: 1,
      workerId: successor.id,
    })
  })

  test('an attempt whose heartbeats stop is lost, although its worker lives', async () => {
    const { worker, run, say } = await anAttempt()
    await say('/health_check')
    const silent = silentAfter(50)

    await eventually(async () => {
      await silent.runOnce()
      return (await runOf(run)).state === 'pending'
    })

    expect(await runOf(run)).toMatchObject({ losses: 1, attempts: [{ outcome: 'worker_lost' }] })
    expect(await say('/health_check')).toMatchObject({ status: 410 })
    expect(await say('/update_status', { status: 'success' })).toMatchObject({ status: 410 })
    expect(
      (await worker.say('heartbeat', { runs: [{ runId: run.runId, fence: run.fence }] })).body.lost,
    ).toEqual([run.runId])
    expect(await beats(run.runId)).toMatchObject([{ finished: true }])
  })

  test('a lost attempt counts as a failure or ends the run, as onWorkerLoss says', async () => {
    const counted = await anAttempt({ onWorkerLoss: 'count', retry: { limit: 0 } })
    const once = await anAttempt({ onWorkerLoss: 'fail' })
    const silent = silentAfter(50)
    for (const { say } of [counted, once]) await say('/health_check')

    for (const { run } of [counted, once])
      await eventually(async () => {
        await silent.runOnce()
        return (await runOf(run)).state === 'permanently_failed'
      })

    expect((await runOf(counted.run)).error.message).toBe(
      'The worker of this run stopped sending heartbeats, which counts as a failed attempt, and the retry limit of 0 is reached.',
    )
  })

  test('an attempt that never sent a heartbeat depends on those of its worker', async () => {
    const { run } = await anAttempt()
    const silent = silentAfter(20)
    const beating = await anAttempt()
    await beating.say('/health_check')

    await eventually(async () => {
      await silent.runOnce()
      return (await runOf(beating.run)).state === 'pending'
    })

    expect(await runOf(run)).toMatchObject({ state: 'running', losses: 0 })
  })

  test('after a period in which no heartbeats could be read, no attempt is lost at once', async () => {
    const { run, say } = await anAttempt()
    await say('/health_check')
    await db.run(sql`update attempt_beat set at = at - interval '1 hour' where run_id = ${run.runId}`)

    await silentAfter(600_000).runOnce()

    expect(await runOf(run)).toMatchObject({ state: 'running' })
  })

  test('a token is valid only for its own attempt, until it expires', async () => {
    const { worker, run, authorization } = await anAttempt()
    const foreign = await anAttempt()
    const claims = claimsOf(worker, run)
    const ask = (token: string, path = '/health_check') =>
      request(node.url, 'POST', path, {}, { authorization: `Bearer ${token}` })

    const answers = [
      await ask(await issueAttemptToken(await signer(), claims, Date.now() - 1_000)),
      await ask(
        await (await signer()).sign(
          'file.upload',
          { subject: run.runId, projectId: claims.projectId },
          Date.now() + HOUR_MS,
        ),
      ),
      await ask(`${authorization.slice('Bearer '.length, -2)}AA`),
      await ask(worker.token),
      await request(node.url, 'POST', '/health_check', {}),
      await request(node.url, 'POST', '/v1/worker/heartbeat', {}, { authorization }),
    ]
    const mixed = await issueAttemptToken(
      await signer(),
      { ...claims, runId: foreign.run.runId },
      Date.now() + HOUR_MS,
    )

    for (const answer of answers)
      expect(answer).toMatchObject({ status: 401, body: { code: 'unknown_token' } })
    expect(await ask(mixed)).toMatchObject({ status: 409 })
    expect(await runOf(foreign.run)).toMatchObject({ state: 'running' })
  })

  test('an invalid report is refused, and the answer names the field', async () => {
    const { run, say } = await anAttempt()

    const answers = [
      await say('/update_status', {}),
      await say('/update_status', { status: 'done' }),
      await say('/update_status', { status: 'success', reason: 'why' }),
      await say('/update_status', { status: 'failure', reason: 'x'.repeat(4_097) }),
      await say('/health_check', { task_id: 1 }),
    ]

    expect(answers.map(({ status, body }) => [status, body.errors[0].pointer])).toEqual([
      [422, '/status'],
      [422, '/status'],
      [422, '/reason'],
      [422, '/reason'],
      [422, '/task_id'],
    ])
    expect(await runOf(run)).toMatchObject({ state: 'running' })
  })

  test('heartbeats are deleted some time after their attempt has ended, and not before', async () => {
    const over = await anAttempt()
    const recent = await anAttempt()
    const running = await anAttempt()
    for (const { say } of [over, recent, running]) await say('/health_check')
    for (const { say } of [over, recent]) await say('/update_status', { status: 'success' })
    await db.run(sql`
      update attempt_beat set at = at - interval '21 minutes' where run_id in (${over.run.runId}, ${running.run.runId})`)

    await db.run(deleteOldBeats({ minutes: 20, limit: 1_000 }))

    const left = await Promise.all([over, recent, running].map(({ run }) => beats(run.runId)))
    expect(left.map((rows) => rows.length)).toEqual([0, 1, 1])
  })

  test('a cancelled run ends cancelled, whatever its attempt reports', async () => {
    const { run, say } = await anAttempt()
    await node.request('POST', `/v1/runs/${run.runId}/cancel`)

    const answer = await say('/update_status', { status: 'failure', reason: 'stopped' })

    expect(answer).toMatchObject({ status: 200, body: { is_producible: false } })
    expect(await runOf(run)).toMatchObject({ state: 'cancelled' })
  })
}
