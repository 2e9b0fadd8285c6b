import { expect, test } from 'vitest'
import {
  aDefinition,
  aNode,
  dueRow,
  endedRow,
  liveRow,
  ownShards,
  tasksInAgenda,
} from '../../test/support/agenda.ts'
import { anyTargets } from '../../test/support/any-targets.ts'
import { whenDone } from '../../test/support/cleanup.ts'
import { steadyClock } from '../../test/support/clock.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { logsInMemory } from '../../test/support/logs.ts'
import type { ClaimRequest } from '../core/run/claim.ts'
import { laneOf } from '../core/run/lane.ts'
import type { TaskDefinition } from '../core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { firePlain } from '../store/agenda/fire-plain.ts'
import { Database } from '../store/database/database.ts'
import { sql } from '../store/database/sql.ts'
import { registerLanes } from '../store/queues/queues.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Definitions } from '../transport/definitions.ts'
import { LOCAL } from '../transport/local-worker.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import type { Transport } from '../transport/transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import type { Executor } from './executor.ts'
import { Worker, type WorkerOptions } from './worker.ts'

const { db, url } = await createTestDatabase()

/** Never ends by itself, only when it is stopped. */
const hanging: Executor = {
  execute: (_, { signal }) =>
    new Promise((resolve) =>
      signal.addEventListener('abort', () => resolve({ kind: 'completed', output: null })),
    ),
}
const instant: Executor = { execute: async () => ({ kind: 'completed', output: null }) }

/** Counts how often an executor was begun. */
function counting(executor: Executor): Executor & { count: number } {
  return {
    count: 0,
    execute(action, context) {
      this.count++
      return executor.execute(action, context)
    },
  }
}

async function startWorker(options: Partial<WorkerOptions> = {}) {
  const nodeId = await aNode(db)
  const worker = new Worker({
    nodeId,
    ...anyTargets(),
    db,
    transport: new PostgresTransport(db),
    wakeUps: new LocalWakeUps(),
    definitions: new Definitions(db),
    executor: hanging,
    clock: steadyClock(),
    log: silentLogger(),
    logs: logsInMemory(),
    concurrency: 10,
    labels: () => [],
    claimEveryMs: 1_000,
    claimAhead: 4_000,
    cancelEveryMs: 1_000,
    graceMs: 0,
    ...options,
  })
  worker.start()
  whenDone(async () => {
    await worker.stop()
    await db.run(sql`delete from agenda`)
    await db.run(sql`delete from ready`)
  })
  return worker
}

/** Runs that are due and wait in ready. */
async function waitingRuns(count = 1, definition: Partial<TaskDefinition> = {}): Promise<string[]> {
  await db.run(registerLanes([laneOf(DEFAULT_PROJECT_ID, aDefinition(definition))]))
  const tasks = await tasksInAgenda(db, { count, definition })
  const nodeId = await aNode(db, ['scheduler'])
  const shards = await ownShards(db, nodeId)
  const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
  await db.run(firePlain({ nodeId, shards, workerId: null, rows }))
  return tasks.map(({ runId }) => runId)
}

const isRunning = (runId: string) => eventually(async () => (await liveRow(db, runId))?.state === 'running')
const hasEnded = (runId: string) => eventually(async () => endedRow(db, runId))

test('after a suspension a running attempt counts as a loss and its run is tried again', async () => {
  const begun = counting(hanging)
  const [runId] = (await waitingRuns()) as [string]
  const worker = await startWorker({ executor: begun })
  await eventually(async () => begun.count === 1)

  worker.suspend()
  worker.resume()

  await eventually(async () => begun.count === 2)
  expect(await liveRow(db, runId)).toMatchObject({ state: 'running', attempt: 2, losses: 1 })
})

test.each<[string, Partial<TaskDefinition>]>([
  ['that may happen at most once', { onWorkerLoss: 'fail' }],
  [
    'that counts a loss, without a retry left,',
    { onWorkerLoss: 'count', retry: { limit: 0, initial: '1s', max: '1s' } },
  ],
])('after a suspension a run %s has failed, and is not begun again', async (_, definition) => {
  const begun = counting(hanging)
  const [runId] = (await waitingRuns(1, definition)) as [string]
  const worker = await startWorker({ executor: begun })
  await eventually(async () => begun.count === 1)

  worker.suspend()
  worker.resume()

  expect(await hasEnded(runId)).toMatchObject({ state: 'permanently_failed', outcome: 'worker_lost' })
  expect(begun.count).toBe(1)
})

test('a run whose claim is answered during a suspension is performed after it', async () => {
  const transport = new PostgresTransport(db)
  let answer = () => {}
  const held = new Promise<void>((resolve) => {
    answer = resolve
  })
  const slow = {
    claimGated: transport.claimGated.bind(transport),
    claim: async (request: Parameters<PostgresTransport['claim']>[0]) => {
      const claim = await transport.claim(request)
      if (claim.runs.length > 0) await held
      return claim
    },
  }
  const [runId] = (await waitingRuns()) as [string]
  const worker = await startWorker({ transport: slow, executor: instant })
  await isRunning(runId)

  worker.suspend()
  answer()
  worker.resume()

  expect(await hasEnded(runId)).toMatchObject({ state: 'completed' })
})

test('runs that wait in a worker that became slow are handed back, and another worker takes them', async () => {
  const runIds = await waitingRuns(30)
  let isSlow = false
  const executor: Executor = {
    execute: (action, context) => (isSlow ? hanging : instant).execute(action, context),
  }
  const quick = await startWorker({ concurrency: 2, executor })
  await Promise.all(runIds.map(hasEnded))
  isSlow = true
  const late = await waitingRuns(30)
  quick.resume()

  // The slow worker keeps what it has begun; the rest is done by another.
  await startWorker({ concurrency: 10, executor: instant })
  await eventually(
    async () =>
      (await Promise.all(late.map((runId) => endedRow(db, runId)))).filter((row) => row).length >= 28,
  )
})

test('a worker without free slots does not report that more runs wait in ready', async () => {
  const begun = counting(hanging)
  await waitingRuns(2)

  const worker = await startWorker({ executor: begun, concurrency: 1 })
  expect(worker.local.isReadyBehind(LOCAL)).toBe(true)
  await eventually(async () => begun.count === 1)

  expect(worker.local.isReadyBehind(LOCAL)).toBe(false)
})

test('a run that is cancelled while it waits in a worker ends cancelled', async () => {
  const warmUp = await waitingRuns(50)
  let isSlow = false
  const executor: Executor = {
    execute: (action, context) => (isSlow ? hanging : instant).execute(action, context),
  }
  const worker = await startWorker({ concurrency: 1, executor })
  await Promise.all(warmUp.map(hasEnded))
  isSlow = true
  const late = await waitingRuns(5)
  worker.resume()
  await isRunning(late[0] as string)

  await db.run(sql`update agenda set cancel_at = now() where run_id = ${late[4] as string}`)

  expect(await hasEnded(late[4] as string)).toMatchObject({ state: 'cancelled' })
})

test('runs that must not wait in a worker get their turn among hundreds of other runs', async () => {
  const begun: string[] = []
  const executor: Executor = {
    execute: async (_, { runId }) => {
      begun.push(runId)
      await new Promise((resolve) => setTimeout(resolve, 5))
      return { kind: 'completed', output: null }
    },
  }
  const plenty = await waitingRuns(400)
  const few = [
    ...(await waitingRuns(2, { onWorkerLoss: 'fail' })),
    ...(await waitingRuns(2, { concurrencyKey: 'any', concurrencyLimit: 2 })),
  ]
  await startWorker({ concurrency: 3, executor })

  await eventually(async () => begun.length === plenty.length + few.length)

  // Without a turn they would be the last.
  expect(Math.max(...few.map((runId) => begun.indexOf(runId)))).toBeLessThan(0.75 * plenty.length)
})

test('rows in ready without a run do not block the runs behind them', async () => {
  await db.run(sql`
    insert into ready (lane, priority, wake_at, run_id)
    select 0, -1, now(), gen_random_uuid() from generate_series(1, 30)`)
  const [runId] = (await waitingRuns()) as [string]

  // One at a time, and nobody wakes it: a pass a second would take half a minute.
  await startWorker({ concurrency: 1, executor: instant })

  expect(await hasEnded(runId)).toMatchObject({ state: 'completed' })
  expect(await db.run(sql`select run_id from ready`)).toEqual([])
})

test('the first run of a new queue starts on its wake-up, not at the next poll', async () => {
  const wakeUps = new LocalWakeUps()
  await startWorker({ wakeUps, claimEveryMs: 600_000, executor: instant })

  for (const queue of ['new', 'newer', 'newest']) {
    const [runId] = (await waitingRuns(1, { queue })) as [string]
    wakeUps.announceReady()

    expect(await hasEnded(runId)).toMatchObject({ state: 'completed' })
  }
})

test('an outcome that cannot be stored does not block other outcomes', async () => {
  const text = '\ud800'
  const retryable = { kind: 'failed', retryable: true, retryAfterMs: 3_600_000 } as const
  const poison: Executor = {
    execute: async (_, { runId }) => {
      if (runId === badRetry) return { ...retryable, error: { code: 'odd', message: text } }
      if (runId === retry) return { ...retryable, error: { code: 'plain', message: 'again' } }
      return { kind: 'completed', output: runId === bad ? { text } : null }
    },
  }
  const runIds = await waitingRuns(20)
  const [bad, badRetry, retry] = [runIds[7], runIds[8], runIds[9]]
  await startWorker({ executor: poison })

  await Promise.all(runIds.filter((id) => id !== badRetry && id !== retry).map(hasEnded))

  const [row] = await db.run(
    sql<{ error: unknown; state: string }>`select error, state from run where run_id = ${bad}`,
  )
  expect(row).toMatchObject({ state: 'completed', error: { code: 'unstorable_outcome' } })
  const codes = await eventually(async () => {
    const attempts = await db.run(
      sql<{ code: string }>`
        select error ->> 'code' as code from attempt where run_id in (${badRetry}, ${retry}) order by run_id = ${retry}`,
    )
    return attempts.length === 2 ? attempts.map(({ code }) => code) : undefined
  })
  expect(codes).toEqual(['unstorable_outcome', 'plain'])
})

test('an attempt that times out keeps the output it had received', async () => {
  const answering: Executor = {
    execute: (_, { signal }) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () =>
          resolve({
            kind: 'failed',
            retryable: true,
            error: { code: 'aborted', message: 'stopped' },
            output: { status: 200 },
          }),
        ),
      ),
  }
  const [runId] = (await waitingRuns(1, {
    timeout: '10ms',
    retry: { limit: 0, initial: '1s', max: '1s' },
  })) as [string]
  await startWorker({ executor: answering })

  await hasEnded(runId)

  const [row] = await db.run(
    sql<{
      code: string
      output: unknown
    }>`select error ->> 'code' as code, output from run where run_id = ${runId}`,
  )
  expect(row).toEqual({ code: 'timed_out', output: { status: 200 } })
})

test('a run whose claim answer was lost is performed once the sessions that were asked have ended', async () => {
  const own = new Database({
    url,
    applicationName: 'belfry lost answers',
    maxConnections: 3,
    statementTimeoutMs: 10_000,
  })
  whenDone(() => own.close())
  const transport = new PostgresTransport(own)
  // Time goes on far enough for a look, and not for what was claimed to be settled by itself.
  let stoppedAt: number | undefined
  let passedMs = 0
  const loses: Transport = Object.assign(Object.create(transport), {
    claim: async (request: ClaimRequest) => {
      const answer = await transport.claim(request)
      if (stoppedAt !== undefined || answer.runs.length === 0) return answer
      stoppedAt = Date.now() + 1
      throw Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' })
    },
  })
  const executor = counting(instant)
  const [runId] = await waitingRuns()
  await startWorker({
    db: own,
    transport: loses,
    executor,
    clock: steadyClock(() => (stoppedAt ?? Date.now()) + passedMs),
  })
  await eventually(async () => stoppedAt !== undefined)
  expect(await liveRow(db, runId as string)).toMatchObject({ state: 'running', attempt: 1 })

  await db.run(
    sql`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'belfry lost answers'`,
  )
  passedMs = 3_000

  await eventually(async () => (await endedRow(db, runId as string))?.state === 'completed')
  expect(await db.run(sql`select attempt, losses from run where run_id = ${runId as string}`)).toEqual([
    { attempt: 1, losses: 0 },
  ])
  expect(executor.count).toBe(1)
})
