/** The worker of the package against a real node: what a handler is given, when it must stop, what is reported. */

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import {
  type Handler,
  NonRetryable,
  RetryAt,
  Stopped,
  Worker,
  type WorkerOptions,
} from '../../src/sdk/worker.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { logOf } from '../support/logs.ts'
import { startTestNode } from '../support/node.ts'
import { aName, latestRun, runWhen, untilAborted, aWorker as workerOf } from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database)

const aWorker = (handlers: Record<string, Handler<never>>, options?: WorkerOptions) =>
  workerOf(node.url, handlers, options)
const create = async (name: string, fields: Record<string, unknown> = {}, payload: unknown = null) => {
  const action = { type: 'handler', name, payload }
  const { status, body } = await node.request('POST', '/v1/tasks', { action, ...fields })
  expect(status).toBe(201)
  return body.id as string
}
const runOf = (taskId: string) => latestRun(node, taskId)
const inState = (taskId: string, state: string) => runWhen(node, taskId, (run) => run.state === state)
const ended = (taskId: string) => runWhen(node, taskId, ({ endedAt }) => endedAt !== null)

test('a handler receives the payload and a context, and its result is stored', async () => {
  const name = aName()
  const seen: unknown[] = []
  await aWorker({
    [name]: async (payload: { a: number }, ctx) => {
      seen.push(payload, ctx.attempt, ctx.runId, ctx.traceparent, ctx.tracingId)
      ctx.log('begun')
      ctx.log('odd', 'warn')
      return { twice: payload.a * 2 }
    },
  })

  const run = await ended(await create(name, { tracingId: 'order 7' }, { a: 21 }))

  expect(run).toMatchObject({ state: 'completed', output: { result: { twice: 42 } } })
  expect(await logOf(node, run.id)).toMatchObject([
    { level: 'info', text: 'begun' },
    { level: 'warn', text: 'odd' },
  ])
  expect(seen).toEqual([{ a: 21 }, 1, run.id, expect.stringMatching(/^00-[0-9a-f]{32}-/), 'order 7'])
})

test('the error that a handler throws decides whether and when the run is retried', async () => {
  const [plain, never, later, soon] = [aName(), aName(), aName(), aName()]
  const [odd, mute] = [aName(), aName()]
  const at = new Date(Date.now() + 3_600_000 * 50)
  await aWorker({
    [plain]: async () => {
      throw new TypeError('no such file')
    },
    [never]: async () => {
      throw new NonRetryable('there is no such customer')
    },
    [later]: async () => {
      throw new RetryAt(at, 'the quota is used up')
    },
    [soon]: () => {
      // The clock of this machine is ten days fast.
      const { now } = Date
      Date.now = () => now() + 86_400_000 * 10
      try {
        throw new RetryAt(3_600_000)
      } finally {
        Date.now = now
      }
    },
    [odd]: async () => {
      throw { code: 7 }
    },
    [mute]: async (_, ctx) => {
      ctx.log('in a word that nobody knows', 'loud' as never)
      throw Object.create(null, { toJSON: { value: () => undefined } })
    },
  })

  const retried = await ended(await create(plain, { retry: { limit: 1, initial: '10ms', max: '10ms' } }))
  expect(retried).toMatchObject({
    state: 'permanently_failed',
    attempt: 2,
    error: { code: 'handler_failed', message: 'no such file' },
  })
  expect(retried.error.detail.stack).toContain('worker.test')
  expect(await ended(await create(never))).toMatchObject({
    state: 'permanently_failed',
    attempt: 1,
    error: { message: 'there is no such customer' },
  })
  expect(await inState(await create(later), 'retrying')).toMatchObject({ retryAt: at.toISOString() })
  const { retryAt } = await inState(await create(soon), 'retrying')
  expect(Date.parse(retryAt) - Date.now()).toBeLessThan(3_700_000)
  expect(await ended(await create(odd, { retry: { limit: 0 } }))).toMatchObject({
    error: { message: '{"code":7}' },
  })
  expect(await ended(await create(mute, { retry: { limit: 0 } }))).toMatchObject({
    error: { message: 'object that cannot be shown' },
  })
})

test('a handler is stopped at the timeout of its task', async () => {
  const name = aName()
  const reasons: unknown[] = []
  await aWorker({
    [name]: async (_, ctx) => {
      ctx.log('begun')
      await untilAborted(ctx).catch((reason) => {
        reasons.push(reason)
        return 'too late'
      })
    },
  })

  const run = await ended(await create(name, { timeout: '200ms', retry: { limit: 0 } }))

  expect(run).toMatchObject({
    state: 'permanently_failed',
    error: { code: 'timed_out' },
    output: null,
  })
  expect(await logOf(node, run.id)).toMatchObject([{ text: 'begun' }])
  expect(reasons).toEqual([expect.any(Stopped)])
  expect(reasons[0]).toMatchObject({ why: 'timed_out' })
})

test('a cancellation reaches a handler within seconds, and its result does not change the state', async () => {
  const [obedient, stubborn] = [aName(), aName()]
  const stoppedAt = new Map<string, number>()
  await aWorker({
    [obedient]: async (_, ctx) => {
      ctx.log('begun')
      ctx.signal.addEventListener('abort', () => stoppedAt.set(obedient, performance.now()))
      await untilAborted(ctx)
    },
    [stubborn]: async (_, ctx) => {
      await untilAborted(ctx).catch(() => {})
      stoppedAt.set(stubborn, performance.now())
      return 'done all the same'
    },
  })
  const ids = [await create(obedient), await create(stubborn)]
  const runs = await Promise.all(ids.map((id) => inState(id, 'running')))

  const cancelledAt = performance.now()
  for (const run of runs) await node.request('POST', `/v1/runs/${run.id}/cancel`)
  const [first, second] = await Promise.all(ids.map((id) => ended(id)))

  expect(first).toMatchObject({
    state: 'cancelled',
    attempts: [{ outcome: 'cancelled', output: null }],
  })
  expect(await logOf(node, first.id)).toMatchObject([{ text: 'begun' }])
  expect(second).toMatchObject({ state: 'cancelled', attempts: [{ outcome: 'completed' }] })
  expect([...stoppedAt.keys()].toSorted()).toEqual([obedient, stubborn].toSorted())
  // STATUS_MS is 1.5 s; the rest is for a busy machine.
  for (const at of stoppedAt.values()) expect(at - cancelledAt).toBeLessThan(30_000)
})

test('a handler that rejects because it was stopped is not logged as an error', async () => {
  const [plain, wrapped] = [aName(), aName()]
  const said: string[] = []
  await aWorker(
    {
      [plain]: async (_, ctx) => untilAborted(ctx),
      // Node's own functions reject with an AbortError whose cause is the reason.
      [wrapped]: async (_, ctx) => sleep(60_000, undefined, { signal: ctx.signal }),
    },
    { log: (_, message) => said.push(message) },
  )
  const ids = [await create(plain), await create(wrapped)]
  const runs = await Promise.all(ids.map((id) => inState(id, 'running')))

  for (const run of runs) await node.request('POST', `/v1/runs/${run.id}/cancel`)
  const after = await Promise.all(ids.map((id) => ended(id)))

  expect(after).toMatchObject([{ state: 'cancelled' }, { state: 'cancelled' }])
  expect(said).toEqual([])
})

test('progress is shown while a run is in progress', async () => {
  const name = aName()
  let release = () => {}
  await aWorker({
    [name]: async (_, ctx) => {
      ctx.progress(0.25, 'a quarter')
      await ctx.heartbeat()
      await new Promise<void>((resolve) => {
        release = resolve
      })
    },
  })
  const taskId = await create(name)

  const run = await eventually(async () => {
    const one = await runOf(taskId)
    return one?.progress ? one : undefined
  })

  expect(run.progress).toMatchObject({ fraction: 0.25, message: 'a quarter' })
  release()
  expect(await ended(taskId)).toMatchObject({ state: 'completed', progress: null })
})

test('a worker runs at most as many runs at once as its concurrency', async () => {
  const name = aName()
  let now = 0
  let most = 0
  let release = () => {}
  const isFull = new Promise<void>((resolve) => {
    release = resolve
  })
  await aWorker(
    {
      [name]: async () => {
        most = Math.max(most, ++now)
        // The first wait for one another, however slowly they come; then each leaves others the time to begin.
        if (now === 3) release()
        await isFull
        await new Promise((resolve) => setTimeout(resolve, 5))
        now--
      },
    },
    { concurrency: 3 },
  )
  const tasks = Array.from({ length: 30 }, () => ({ action: { type: 'handler', name } }))
  const { body } = await node.request('POST', '/v1/tasks/bulk', { tasks })

  for (const { id } of body.items) await ended(id)

  expect(most).toBe(3)
})

test('a worker that stops finishes its runs and claims no more', async () => {
  const name = aName()
  const begun: string[] = []
  let release = () => {}
  const worker = await aWorker(
    {
      [name]: async (payload: string) => {
        begun.push(payload)
        await new Promise<void>((resolve) => {
          release = resolve
        })
        return 'finished'
      },
    },
    { concurrency: 1 },
  )
  const first = await create(name, {}, 'first')
  await eventually(async () => begun.length === 1)
  const second = await create(name, {}, 'second')

  const stopping = worker.stop()
  release()
  await stopping

  expect(await ended(first)).toMatchObject({ state: 'completed', output: { result: 'finished' } })
  expect(begun).toEqual(['first'])
  expect(await runOf(second)).toMatchObject({ state: 'pending', attempt: 0 })
})

test('a run that exceeds the grace period is stopped and retried', async () => {
  const name = aName()
  const worker = await aWorker({ [name]: (_, ctx) => untilAborted(ctx) }, { graceMs: 50 })
  const taskId = await create(name, { retry: { limit: 2, initial: '1h', max: '1h' } })
  await inState(taskId, 'running')

  await worker.stop()

  expect(await runOf(taskId)).toMatchObject({
    state: 'retrying',
    attempts: [{ outcome: 'failed', error: { code: 'worker_stopped' } }],
  })
})

test('a result that cannot be stored unchanged does not affect other runs', async () => {
  const [circular, nul, big, fine] = [aName(), aName(), aName(), aName()]
  await aWorker({
    [circular]: async () => {
      const self: Record<string, unknown> = {}
      self['self'] = self
      return self
    },
    [nul]: async (_, ctx) => {
      ctx.log('a\0b \ud800')
      return { text: 'a\0b', half: '\udc00', kept: '\\u0000' }
    },
    [big]: async () => 'x'.repeat(100_000),
    [fine]: async () => undefined,
  })
  const deep = JSON.parse(`${'['.repeat(30)}${']'.repeat(30)}`)
  const ids = await Promise.all([circular, nul, big, fine].map((name) => create(name, {}, deep)))

  const [first, second, third, fourth] = await Promise.all(ids.map((id) => ended(id)))

  expect(first).toMatchObject({ state: 'permanently_failed', error: { code: 'handler_failed' } })
  expect(first.error.message).toContain('cannot be serialised as JSON')
  expect(second).toMatchObject({
    state: 'completed',
    output: {
      result: { text: 'a\ufffdb', half: '\ufffd', kept: '\\u0000' },
    },
  })
  expect(await logOf(node, second.id)).toMatchObject([{ text: 'a\ufffdb \ufffd' }])
  expect(third.output.resultOmitted).toContain('100002 characters')
  expect(fourth).toMatchObject({ state: 'completed', output: null })
})

test('an invalid configuration of a worker is refused with an explanation', async () => {
  expect(() => new Worker({ server: 'nowhere' })).toThrow(/must be an address such as http/)
  expect(() => new Worker({ server: 'ftp://x' })).toThrow(/must start with http/)
  expect(() => new Worker({ concurrency: 0 })).toThrow(/concurrency must be a whole number/)
  await expect(new Worker({ server: node.url }).start()).rejects.toThrow(/call handle/)
  const worker = new Worker({ server: node.url }).handle('a b', () => {})
  await expect(worker.start()).rejects.toThrow(/must be 1 to 100 letters/)
  expect(() => new Worker().handle('a', () => {}).handle('a', () => {})).toThrow(/already registered/)
  expect(() => new RetryAt(Number.NaN)).toThrow(/requires a Date/)
})

test('a report that cannot be stored is repeated, and does not block later reports', async () => {
  const name = aName()
  const stuck: string[] = []
  await aWorker({
    [name]: async (payload: string, ctx) => {
      if (payload !== 'stuck') return
      await db.run({
        text: `alter table run add constraint refused_by_test check (run_id <> '${ctx.runId}') not valid`,
        values: [],
      })
      stuck.push(ctx.runId)
    },
  })
  const first = await create(name, {}, 'stuck')
  await eventually(async () => stuck.length > 0)

  await inState(await create(name, {}, 'good'), 'completed')
  expect(await runOf(first)).toMatchObject({ state: 'running' })
  await db.run(sql`alter table run drop constraint refused_by_test`)

  await inState(first, 'completed')
})
