/** One test for each cause: a task is brought into it, and says so. Where somebody must be there, real nodes are. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode, type TestNode } from '../support/node.ts'

const database = await createTestDatabase()
const { db } = database
const api = await startTestNode(database, { roles: ['api', 'liveness'] })
const S = 1_000
const iso = (ms: number) => new Date(ms).toISOString()
const NAP = { type: 'sleep', duration: '10m' }
const QUICK = { type: 'sleep', duration: '0s' }
const HOURLY = { type: 'every', interval: '1h' }

const others: TestNode[] = []
afterEach(async () => {
  await db.run(sql`update agenda set cancel_at = now() where state = 'running'`)
  await Promise.all(others.splice(0).map((node) => node.stop()))
})

const PLAIN = { roles: ['scheduler', 'worker'], shutdownGraceMs: 1 }

/** A node with some roles, gone after the test. */
async function aNode(roles: readonly string[], flags: Record<string, unknown> = {}): Promise<TestNode> {
  const node = await startTestNode(database, { roles: [...roles], shutdownGraceMs: 1, ...flags })
  others.push(node)
  return node
}

async function aTask(body: Record<string, unknown>): Promise<string> {
  const { status, body: task } = await api.request('POST', '/v1/tasks', { action: QUICK, ...body })
  expect([status, task]).toEqual([201, expect.anything()])
  return task.id
}

const why = async (id: string, at?: number) => {
  const { status, body } = await api.request(
    'GET',
    `/v1/tasks/${id}/why${at === undefined ? '' : `?at=${iso(at)}`}`,
  )
  expect([status, body]).toEqual([200, expect.anything()])
  return body
}

/** Asks until the cause is the one expected. */
const untilWhy = (id: string, code: string) =>
  eventually(async () => {
    const answer = await why(id)
    return answer.code === code && answer
  })

const trigger = async (id: string) => (await api.request('POST', `/v1/tasks/${id}/trigger`)).body.id as string
const runState = (runId: string, state: string) =>
  eventually(async () => (await api.request('GET', `/v1/runs/${runId}`)).body.state === state)
const alsoOf = (answer: { also: { code: string }[] }) => answer.also.map(({ code }) => code)

test('not_due, with the next instant, and what would hold it up then', async () => {
  const id = await aTask({ schedule: HOURLY })

  const answer = await why(id)

  const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
  expect(answer).toMatchObject({ code: 'not_due', isNow: true, facts: { nextAt: task.nextFireAt } })
  expect(alsoOf(answer)).toEqual(['no_worker', 'shard_unwatched'])
})

test('shard_unwatched: it is due, and no scheduler is there', async () => {
  const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })

  expect(await why(id)).toMatchObject({ code: 'shard_unwatched', facts: { shard: expect.any(Number) } })
})

test('no_worker: it was fired, and no worker is there', async () => {
  await aNode(['scheduler'])
  const id = await aTask({})

  expect(await untilWhy(id, 'no_worker')).toMatchObject({ facts: { runState: 'pending', workers: 0 } })
})

test('no_capable_worker: none of the workers offers what it asks for', async () => {
  await aNode(['scheduler', 'worker'], { labels: ['gpu'] })
  const id = await aTask({ labels: ['gpu', 'arm'] })

  const answer = await untilWhy(id, 'no_capable_worker')

  expect(answer.facts).toMatchObject({ labels: ['arm', 'gpu'], workers: 1 })
})

test('workers_busy: all places are taken, and so many wait before it', async () => {
  await aNode(['scheduler', 'worker'], { concurrency: 1, claimAhead: 0 })
  const first = await aTask({ action: NAP })
  await untilWhy(first, 'running')
  const second = await aTask({ action: NAP })
  await untilWhy(second, 'workers_busy')
  const third = await aTask({ action: NAP })

  const answer = await untilWhy(third, 'workers_busy')

  expect(answer.facts).toMatchObject({ places: 1, workers: 1, ahead: 1 })
})

describe('while a scheduler and a worker are there,', () => {
  let node: TestNode
  beforeAll(async () => {
    node = await startTestNode(database, PLAIN)
  })
  afterAll(() => node.stop())

  test('no_worker: a handler needs a worker of the users’ own', async () => {
    const id = await aTask({ action: { type: 'handler', name: 'rotate-keys' } })

    expect(await untilWhy(id, 'no_worker')).toMatchObject({ facts: { handler: 'rotate-keys', workers: 0 } })
  })

  test('running, and finished after that', async () => {
    const id = await aTask({ action: NAP })

    const running = await untilWhy(id, 'running')
    await api.request('POST', `/v1/runs/${running.facts.runId}/cancel`)
    const finished = await untilWhy(id, 'finished')

    expect(running.facts).toMatchObject({ runState: 'running', attempt: 1, workerId: expect.any(String) })
    expect(finished).toMatchObject({ facts: { runId: running.facts.runId, runState: 'cancelled' } })
  })

  test('queue_paused, and when it is due next is no cause beneath it', async () => {
    const id = await aTask({ queue: 'closed', schedule: HOURLY })
    await api.request('POST', '/v1/queues/closed/pause')

    const before = await why(id)
    await trigger(id)
    const answer = await untilWhy(id, 'queue_paused')

    expect(before.code).toBe('not_due')
    expect(alsoOf(before)).toContain('queue_paused')
    expect(answer.facts).toMatchObject({ queue: 'closed', runState: 'pending' })
    expect(answer.also).toEqual([])
  })

  test('queue_full', async () => {
    const [first, second] = [
      await aTask({ queue: 'narrow', action: NAP, schedule: { type: 'manual' } }),
      await aTask({ queue: 'narrow', schedule: { type: 'manual' } }),
    ]
    await api.request('PATCH', '/v1/queues/narrow', { concurrencyLimit: 1 })
    await trigger(first)
    await untilWhy(first, 'running')
    await trigger(second)

    expect((await untilWhy(second, 'queue_full')).facts).toMatchObject({ queue: 'narrow', limit: 1, held: 1 })
  })

  test('key_full', async () => {
    const first = await aTask({ concurrencyKey: 'customer', action: NAP })
    await untilWhy(first, 'running')
    const second = await aTask({ concurrencyKey: 'customer' })

    expect((await untilWhy(second, 'key_full')).facts).toMatchObject({ key: 'customer', limit: 1, held: 1 })
  })

  test('retry_wait, now and then', async () => {
    const id = await aTask({
      action: { type: 'ping', url: 'http://127.0.0.1:9/' },
      retry: { limit: 3, initial: '10m', max: '10m' },
    })

    const answer = await untilWhy(id, 'retry_wait')
    const then = await why(id, Date.now())

    expect(answer.facts).toMatchObject({ attempt: 1, runState: 'retrying' })
    expect(Date.parse(answer.facts.until)).toBeGreaterThan(Date.now())
    expect(then).toMatchObject({
      code: 'retry_wait',
      isNow: false,
      facts: { attempt: 1, runId: answer.facts.runId },
    })
  })

  test('overlap: it waits for a run of its own task', async () => {
    const id = await aTask({ action: NAP, overlap: 'queue_one', schedule: { type: 'manual' } })
    const first = await trigger(id)
    await runState(first, 'running')
    await trigger(id)

    const answer = await eventually(async () => {
      const asked = await why(id)
      return asked.also.some(({ code }: { code: string }) => code === 'overlap') && asked
    })

    expect(answer.code).toBe('running')
    expect(answer.also).toMatchObject([{ code: 'overlap', facts: { runId: first } }])
  })

  test('overlap, then: it was skipped because of a run', async () => {
    const id = await aTask({ action: NAP, schedule: { type: 'every', interval: '1s' } })
    const skip = await eventually(async () => {
      const { body } = await api.request('GET', `/v1/tasks/${id}/runs?state=skipped`)
      return body.items[0]
    })
    const { facts } = await untilWhy(id, 'running')
    await api.request('POST', `/v1/tasks/${id}/cancel`)
    await runState(facts.runId, 'cancelled')
    await db.run(
      sql`update run set ended_at = to_timestamp(${Date.parse(skip.scheduledFor)}::float8 / 1000) where run_id = ${facts.runId}`,
    )

    const then = await why(id, Date.parse(skip.scheduledFor) + 1)

    expect(then).toMatchObject({ code: 'overlap', facts: { runId: facts.runId, reason: 'overlap' } })
  })
})

test('paused, now and then', async () => {
  const id = await aTask({ schedule: HOURLY })
  await api.request('POST', `/v1/tasks/${id}/pause`)

  const now = await why(id)
  const then = await why(id, Date.now())

  const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
  expect(now).toMatchObject({ code: 'paused', facts: { since: task.pausedAt } })
  expect(then).toMatchObject({ code: 'paused', facts: { since: task.pausedAt } })
})

test('cancelled, now and then', async () => {
  const id = await aTask({ schedule: HOURLY })
  await api.request('POST', `/v1/tasks/${id}/cancel`)

  expect(await why(id)).toMatchObject({ code: 'cancelled', also: [] })
  expect(await why(id, Date.now())).toMatchObject({ code: 'cancelled' })
})

test('manual_only', async () => {
  const id = await aTask({ schedule: { type: 'manual' } })

  expect(await why(id)).toMatchObject({ code: 'manual_only' })
})

test('next_row_lost', async () => {
  const id = await aTask({ schedule: HOURLY })
  const { body: task } = await api.request('GET', `/v1/tasks/${id}`)
  await db.transaction(async (tx) => {
    // The audit of the node waits for this row, so it cannot put the other one back before we have asked.
    await tx.run(sql`select from audit_progress for update`)
    await tx.run(sql`update audit_progress set next_pass_at = now() + interval '1 hour'`)
    await tx.run(sql`delete from agenda where task_id = ${id}`)
  })

  const lost = await why(id)
  await db.run(sql`update audit_progress set next_pass_at = now(), walked_to = null`)
  const found = await eventually(async () => {
    const { body } = await api.request('GET', `/v1/audit?taskId=${id}`)
    return body.items[0]
  })

  expect(lost).toMatchObject({ code: 'next_row_lost', facts: { nextAt: task.nextFireAt } })
  expect(found).toMatchObject({ kind: 'next_row_lost', isRepaired: true, taskId: id })
  expect(await why(id)).toMatchObject({ code: 'not_due', facts: { nextAt: task.nextFireAt } })
})

test('starting, and scheduler_behind when that lasts', async () => {
  const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })
  await db.run(sql`update shard set owner = ${api.id}, watched_until = now() + interval '10 minutes'`)
  const dueSince = (ms: number) =>
    db.run(
      sql`update agenda set wake_at = now() - ${ms}::integer * interval '1 millisecond' where task_id = ${id}`,
    )
  await dueSince(0)
  const soon = await why(id)
  await dueSince(20 * S)
  const late = await why(id)
  await db.run(sql`update shard set owner = null, watched_until = now()`)

  expect(soon.code).toBe('starting')
  expect(late).toMatchObject({ code: 'scheduler_behind', facts: { shard: expect.any(Number) } })
})

/** The first run of a task that did not run and says so. */
const skipOf = (id: string) =>
  eventually(async () => {
    const { body } = await api.request('GET', `/v1/tasks/${id}/runs?limit=200`)
    return body.items.findLast(({ reason }: { reason: string | null }) => reason !== null)
  })

/** Waits until some occurrences of a task have come due and nobody fired them. */
const untilDue = (id: string, count: number) =>
  eventually(async () => (await api.request('GET', `/v1/tasks/${id}/ledger`)).body.counts.due >= count)

const OFTEN = { type: 'every', interval: '50ms' }

/** Brings a task to an occurrence that does not run for the reason. */
const SKIPS: Readonly<Record<string, () => Promise<string>>> = {
  skip_next: async () => {
    await aNode(['scheduler', 'worker'])
    const id = await aTask({ schedule: { type: 'once', at: iso(Date.now() + 700) } })
    await api.request('POST', `/v1/tasks/${id}/skip-next`)
    return id
  },
  edited: async () => {
    const id = await aTask({ schedule: OFTEN })
    await untilDue(id, 3)
    await api.request('PATCH', `/v1/tasks/${id}`, { schedule: HOURLY })
    return id
  },
  bounds: async () => {
    const node = await aNode(['scheduler', 'worker'])
    const id = await aTask({ schedule: OFTEN, overlap: 'allow' })
    await eventually(async () => (await api.request('GET', `/v1/tasks/${id}/runs`)).body.items.length > 0)
    await node.stop()
    // One that was handed back would have been on its way then.
    const { body } = await api.request('GET', `/v1/tasks/${id}/runs?state=pending`)
    for (const run of body.items) await api.request('POST', `/v1/runs/${run.id}/cancel`)
    await untilDue(id, (await api.request('GET', `/v1/tasks/${id}/ledger`)).body.counts.due + 2)
    await api.request('PATCH', `/v1/tasks/${id}`, { maxRuns: 1 })
    return id
  },
  cancelled: async () => {
    const id = await aTask({ schedule: OFTEN })
    await untilDue(id, 2)
    await api.request('POST', `/v1/tasks/${id}/cancel`)
    return id
  },
  lost: async () => {
    const id = await aTask({ schedule: OFTEN, misfire: { policy: 'skip' } })
    await untilDue(id, 2)
    await db.run(sql`delete from agenda where task_id = ${id}`)
    await db.run(sql`update audit_progress set next_pass_at = now(), walked_to = null`)
    return id
  },
}

test.each(Object.keys(SKIPS))('%s, then: the skip tells', async (reason) => {
  const id = await (SKIPS[reason] as () => Promise<string>)()
  const skip = await skipOf(id)

  const then = await why(id, Date.parse(skip.covers.until))

  expect([skip.state, then]).toMatchObject(['skipped', { code: reason, facts: { reason, runId: skip.id } }])
})

test.each(['skip', 'fail'])('misfire under %s, then: what was missed tells', async (policy) => {
  const anchor = Math.floor(Date.now() / 60_000) * 60_000 - 600 * S
  const id = await aTask({
    schedule: { type: 'every', interval: '1m', anchor: iso(anchor) },
    misfire: { policy },
  })
  await db.run(sql`update task set created_at = to_timestamp(${anchor - 1}::float8 / 1000) where id = ${id}`)
  await db.run(sql`
    update agenda set wake_at = to_timestamp(${anchor}::float8 / 1000), scheduled_for = to_timestamp(${anchor}::float8 / 1000) where task_id = ${id}`)
  await db.run(sql`update shard set owner = null, watched_until = to_timestamp(${anchor - S}::float8 / 1000)`)
  await aNode(['scheduler', 'worker'])
  await skipOf(id)

  const then = await why(id, anchor + 90 * S)

  expect(then).toMatchObject({ code: 'misfire', facts: { since: iso(anchor), reason: 'misfire' } })
  expect(then.sentence).toContain(policy === 'fail' ? 'has failed' : 'was skipped')
})

test('blackout, now and then, also when it was removed since', async () => {
  await aNode(['scheduler', 'worker'])
  const window = { type: 'range', from: iso(Date.now() - 60 * S), to: iso(Date.now() + 600 * S) }
  const { body: blackout } = await api.request('POST', '/v1/blackouts', { name: 'freeze', window })
  const often = await aTask({ schedule: OFTEN })
  const hourly = await aTask({ schedule: HOURLY })
  const skip = await skipOf(often)
  const at = Date.now()

  const now = await why(hourly)
  await api.request('DELETE', `/v1/blackouts/${blackout.id}`)
  await api.request('POST', `/v1/tasks/${often}/cancel`)

  expect(now.code).toBe('not_due')
  expect(now.also[0]).toMatchObject({ code: 'blackout', facts: { name: 'freeze', until: window.to } })
  expect(await why(often, Date.parse(skip.scheduledFor))).toMatchObject({
    code: 'blackout',
    facts: { name: 'freeze', reason: 'blackout' },
  })
  expect(await why(hourly, at)).toMatchObject({ code: 'not_due', also: [{ code: 'blackout' }] })
  expect(alsoOf(await why(hourly))).not.toContain('blackout')
})

test('blackout, then: a run waited for its end', async () => {
  await aNode(['scheduler', 'worker'])
  const window = { type: 'range', from: iso(Date.now() - 60 * S), to: iso(Date.now() + 600 * S) }
  const { body: blackout } = await api.request('POST', '/v1/blackouts', {
    name: 'quiet',
    effect: 'defer',
    window,
  })
  const id = await aTask({ schedule: { type: 'once', at: iso(Date.now()) } })
  const now = await untilWhy(id, 'blackout')

  const then = await why(id, Date.now())
  await api.request('DELETE', `/v1/blackouts/${blackout.id}`)

  expect(now.facts).toMatchObject({ runState: 'deferred' })
  expect(then).toMatchObject({ code: 'blackout', facts: { runId: now.facts.runId, name: 'quiet' } })
})

test('then: running, waited, between two runs, before it was made, and before history', async () => {
  const id = await aTask({ schedule: { type: 'every', interval: '10m', anchor: '2026-01-01T00:00:00Z' } })
  await db.run(sql`update task set created_at = now() - interval '90 days' where id = ${id}`)
  const at = Math.floor(Date.now() / 600_000) * 600_000 - 600_000
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, late_ms, version, ordinal, attempt, kind, state, outcome)
    select gen_random_uuid(), id, project_id, to_timestamp(${at}::float8 / 1000), to_timestamp((${at}::float8 + 5000) / 1000),
           to_timestamp((${at}::float8 + 20000) / 1000), 5000, 1, 1, 1, 'occurrence', 'completed', 'completed' from task where id = ${id}`)

  expect(await why(id, at + 2 * S)).toMatchObject({
    code: 'waited',
    facts: { since: iso(at), until: iso(at + 5 * S) },
  })
  expect(await why(id, at + 10 * S)).toMatchObject({
    code: 'running',
    facts: { since: iso(at + 5 * S), until: iso(at + 20 * S) },
  })
  expect(await why(id, at + 60 * S)).toMatchObject({
    code: 'not_due',
    facts: { nextAt: iso(at + 600 * S), runState: 'completed' },
  })
  expect(await why(id, at - 80 * 86_400 * S)).toMatchObject({ code: 'before_history' })
  expect(await why(id, at - 100 * 86_400 * S)).toMatchObject({ code: 'not_created' })
})

test('an instant that lies ahead and a task that is not there are refused', async () => {
  const id = await aTask({ schedule: HOURLY })

  const ahead = await api.request('GET', `/v1/tasks/${id}/why?at=${iso(Date.now() + 60 * S)}`)
  const missing = await api.request('GET', '/v1/tasks/01900000-0000-7000-8000-000000000000/why')

  expect([ahead.status, ahead.body.errors]).toMatchObject([422, [{ pointer: '?at' }]])
  expect(missing.status).toBe(404)
})
