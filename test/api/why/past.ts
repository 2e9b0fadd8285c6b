/** Why it did not run then: skips, misfires, blackouts, and instants of which nothing is known. */
import { expect, onTestFinished, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { type Asking, alsoOf, HOURLY, iso, NAP, QUICK, S } from './asking.ts'

const OFTEN = { type: 'every', interval: '50ms' }

export function past({ db, api, aNode, aTask, why, untilWhy }: Asking): void {
  /** The first skip of a task whose instant has come: skips are recorded a moment ahead. */
  const skipOf = (id: string) =>
    eventually(async () => {
      const { body } = await api.request('GET', `/v1/tasks/${id}/runs?limit=200`)
      return body.items.findLast(
        ({ reason, scheduledFor }: { reason: string | null; scheduledFor: string }) =>
          reason !== null && Date.parse(scheduledFor) < Date.now(),
      )
    })

  /** Waits until some occurrences of a task have come due and nobody fired them. */
  const untilDue = (id: string, count: number) =>
    eventually(async () => (await api.request('GET', `/v1/tasks/${id}/ledger`)).body.counts.due >= count)

  /** For the last hour a worker was there, which has just been stopped, and schedulers watched everything. */
  const staffedForAnHour = async () => {
    await db.run(sql`delete from unwatched`)
    await db.run(sql`
      insert into node (id, name, version, roles, concurrency, started_at, dead_at, buried_at, reason)
      values (gen_random_uuid(), 'gone', '0', '{worker}', 10, now() - interval '1 hour', now(), now(), 'stopped')`)
  }

  /** Brings a task to an occurrence that does not run for the reason. */
  const SKIPS: Readonly<Record<string, () => Promise<string>>> = {
    skip_next: async () => {
      await aNode(['scheduler', 'worker'])
      // Long enough for the request to arrive before it, also on a busy machine.
      const id = await aTask({ schedule: { type: 'once', at: iso(Date.now() + 5 * S) } })
      await api.request('POST', `/v1/tasks/${id}/skip-next`)
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

  test.each(Object.keys(SKIPS))('%s in the past: the recorded skip gives the reason', async (reason) => {
    const id = await (SKIPS[reason] as () => Promise<string>)()
    const skip = await skipOf(id)

    const then = await why(id, Date.parse(skip.covers.until))

    expect([skip.state, then]).toMatchObject(['skipped', { code: reason, facts: { reason, runId: skip.id } }])
  })

  test.each(['skip', 'fail'])(
    'misfire under %s in the past: the record of missed occurrences gives the reason',
    async (policy) => {
      const anchor = Math.floor(Date.now() / 60_000) * 60_000 - 600 * S
      const id = await aTask({
        schedule: { type: 'every', interval: '1m', anchor: iso(anchor) },
        misfire: { policy },
      })
      await db.run(
        sql`update task set created_at = to_timestamp(${anchor - 1}::float8 / 1000) where id = ${id}`,
      )
      await db.run(sql`
      update agenda set wake_at = to_timestamp(${anchor}::float8 / 1000), scheduled_for = to_timestamp(${anchor}::float8 / 1000) where task_id = ${id}`)
      await db.run(
        sql`update shard set owner = null, watched_until = to_timestamp(${anchor - S}::float8 / 1000)`,
      )
      await aNode(['scheduler', 'worker'])
      await skipOf(id)

      const then = await why(id, anchor + 90 * S)

      expect(then).toMatchObject({ code: 'misfire', facts: { since: iso(anchor), reason: 'misfire' } })
      expect(then.sentence).toContain(policy === 'fail' ? 'recorded as failed' : 'skipped')
    },
  )

  test('blackout, now and in the past, also after its removal', async () => {
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

  test('blackout in the past: a deferred run waited for its end', async () => {
    await aNode(['scheduler', 'worker'])
    const window = { type: 'range', from: iso(Date.now() - 60 * S), to: iso(Date.now() + 600 * S) }
    const { body: blackout } = await api.request('POST', '/v1/blackouts', {
      name: 'quiet',
      effect: 'defer',
      window,
    })
    onTestFinished(async () => {
      await api.request('DELETE', `/v1/blackouts/${blackout.id}`)
    })
    // Another node knows of the blackout two seconds later at the latest.
    const due = Date.now() + 2.5 * S
    const id = await aTask({ schedule: { type: 'once', at: iso(due) } })
    const now = await untilWhy(id, 'blackout')
    // The scheduler decides shortly before the instant, at which nothing was due yet.
    await eventually(async () => Date.now() > due)

    const then = await why(id, Date.now())

    expect(now.facts).toMatchObject({ runState: 'deferred' })
    expect(then).toMatchObject({ code: 'blackout', facts: { runId: now.facts.runId, name: 'quiet' } })
  })

  test('in the past: running, waited, not_due, before_history and not_created', async () => {
    const id = await aTask({ schedule: { type: 'every', interval: '10m', anchor: '2026-01-01T00:00:00Z' } })
    await db.run(sql`update task set created_at = now() - interval '90 days' where id = ${id}`)
    const at = Math.floor(Date.now() / 600_000) * 600_000 - 600_000
    await staffedForAnHour()
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

  test('in the past: the queue was paused and still is', async () => {
    const id = await aTask({ schedule: HOURLY, queue: 'shut' })
    await staffedForAnHour()
    await db.run(sql`update task set created_at = now() - interval '1 hour' where id = ${id}`)
    const paused = await api.request('POST', '/v1/queues/shut/pause')
    await db.run(sql`update queue set paused_at = now() - interval '10 minutes' where name = 'shut'`)
    await db.run(sql`
      update agenda set state = 'pending', wake_at = now() - interval '5 minutes', scheduled_for = now() - interval '5 minutes'
      where task_id = ${id}`)

    expect(paused.status).toBe(200)
    expect(await why(id, Date.now() - 60 * S)).toMatchObject({
      code: 'queue_paused',
      facts: { queue: 'shut' },
    })
    await db.run(sql`update queue set paused_at = now() where name = 'shut'`)
    expect(await why(id, Date.now() - 60 * S)).toMatchObject({ code: 'waited' })
  })

  test('key_full in the past: names the run that used the key', async () => {
    await aNode(['scheduler', 'worker'])
    const holder = await aTask({ concurrencyKey: 'shared', action: NAP })
    const { facts: held } = await untilWhy(holder, 'running')
    const id = await aTask({ concurrencyKey: 'shared' })
    const elsewhere = await aTask({ concurrencyKey: 'shared', queue: 'elsewhere', action: NAP })
    await untilWhy(elsewhere, 'running')
    const { facts } = await untilWhy(id, 'key_full')
    const at = Date.now()
    const whileItWaits = await why(id, at)
    await api.request('POST', `/v1/runs/${held.runId}/cancel`)
    await untilWhy(id, 'finished')

    const then = await why(id, at)

    for (const answer of [whileItWaits, then])
      expect(answer).toMatchObject({
        code: 'key_full',
        facts: { runId: facts.runId, key: 'shared', limit: 1, held: 1, heldBy: [held.runId] },
      })
    expect(then.sentence).toContain(`in use by run ${held.runId}.`)
    expect(Date.parse(then.facts.until)).toBeGreaterThan(at)
  })

  test('key_full in the past: a command had used the key', async () => {
    const task = {
      concurrencyKey: 'machine',
      action: { type: 'exec', command: '/bin/true' },
      schedule: HOURLY,
    }
    const [holder, id] = [await aTask(task), await aTask(task)]
    const at = Date.now() - 600 * S
    await staffedForAnHour()
    await db.run(sql`update task set created_at = now() - interval '1 hour' where id in (${holder}, ${id})`)
    await db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, late_ms, version, ordinal, attempt, kind, state, outcome)
      select gen_random_uuid(), id, project_id, to_timestamp((${at}::float8 - 60000) / 1000),
             to_timestamp((${at}::float8 + case when id = ${holder} then -60000 else 60000 end) / 1000),
             to_timestamp((${at}::float8 + 60000) / 1000), 0, 1, 1, 1, 'occurrence', 'completed', 'completed'
      from task where id in (${holder}, ${id})`)
    const { body: held } = await api.request('GET', `/v1/tasks/${holder}/runs?state=completed`)

    expect(await why(id, at)).toMatchObject({
      code: 'key_full',
      facts: { key: 'machine', heldBy: [held.items[0].id] },
    })
  })

  test('in the past: a key with a free slot is no cause, and busy workers are not recorded', async () => {
    await aNode(['scheduler', 'worker'], { concurrency: 1, claimAhead: 0 })
    const first = await aTask({ concurrencyKey: 'wide', concurrencyLimit: 2, action: NAP })
    const { facts: held } = await untilWhy(first, 'running')
    const id = await aTask({ concurrencyKey: 'wide', concurrencyLimit: 2 })
    await untilWhy(id, 'workers_busy')
    const at = Date.now()
    await api.request('POST', `/v1/runs/${held.runId}/cancel`)
    await untilWhy(id, 'finished')

    expect(await why(id, at)).toMatchObject({ code: 'waited', also: [] })
  })

  test('key_full in the past: an attempt that has failed since had used the key', async () => {
    await aNode(['scheduler', 'worker'])
    const holder = await aTask({
      concurrencyKey: 'tried',
      action: NAP,
      timeout: '2s',
      retry: { limit: 1, initial: '10m', max: '10m' },
    })
    const { facts: held } = await untilWhy(holder, 'running')
    const id = await aTask({ concurrencyKey: 'tried' })
    await untilWhy(id, 'key_full')
    const at = Date.now()
    await untilWhy(holder, 'retry_wait')
    await untilWhy(id, 'finished')

    expect(await why(id, at)).toMatchObject({ code: 'key_full', facts: { heldBy: [held.runId] } })
  })

  test('no_worker in the past: no worker was alive until one started', async () => {
    await aNode(['scheduler'])
    const id = await aTask({})
    await untilWhy(id, 'no_worker')
    const at = Date.now()
    await aNode(['worker'])
    await untilWhy(id, 'finished')

    expect(await why(id, at)).toMatchObject({
      code: 'no_worker',
      facts: { workers: 0, runState: 'completed' },
    })
  })

  test('no_capable_worker in the past: no worker offered the labels until one started', async () => {
    await aNode(['scheduler', 'worker'], { labels: ['gpu'] })
    const id = await aTask({ labels: ['gpu', 'arm'] })
    await untilWhy(id, 'no_capable_worker')
    const at = Date.now()
    await aNode(['worker'], { labels: ['arm', 'gpu'] })
    await untilWhy(id, 'finished')

    expect(await why(id, at)).toMatchObject({
      code: 'no_capable_worker',
      facts: { labels: ['arm', 'gpu'], workers: 1 },
    })
  })

  test('no_worker in the past: no worker offered the handler, and the run was cancelled', async () => {
    await aNode(['scheduler', 'worker'])
    const id = await aTask({ action: { type: 'handler', name: 'rotate-logs' } })
    const { facts } = await untilWhy(id, 'no_worker')
    const at = Date.now()
    await api.request('POST', `/v1/runs/${facts.runId}/cancel`)

    expect(await why(id, at)).toMatchObject({
      code: 'no_worker',
      facts: { runId: facts.runId, runState: 'cancelled', handler: 'rotate-logs' },
    })
  })

  test('no_worker in the past: the run waited until its queueTimeout', async () => {
    await aNode(['scheduler'])
    const id = await aTask({ queueTimeout: '1s' })
    const skip = await skipOf(id)

    const then = await why(id, Date.parse(skip.endedAt))

    expect([skip.reason, then]).toMatchObject([
      'queue_timeout',
      { code: 'no_worker', also: [{ code: 'waited' }] },
    ])
  })

  test('in the past: no_worker is not reported when the records of workers may be deleted', async () => {
    const id = await aTask({ schedule: { type: 'manual' } })
    await db.run(sql`update task set created_at = now() - interval '90 days' where id = ${id}`)
    const at = Date.now() - 8 * 86_400 * S
    await db.run(sql`
      insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, late_ms, version, ordinal, attempt, kind, state, outcome)
      select gen_random_uuid(), id, project_id, to_timestamp(${at}::float8 / 1000), now(), now(), 5000, 1, 1, 1, 'manual', 'completed', 'completed'
      from task where id = ${id}`)

    expect(await why(id, at + S)).toMatchObject({ code: 'waited' })
  })

  test('shard_unwatched in the past: no scheduler was alive when the run was due', async () => {
    const { body: task } = await api.request('POST', '/v1/tasks', {
      action: QUICK,
      schedule: { type: 'once', at: iso(Date.now()) },
    })
    const { facts } = await untilWhy(task.id, 'shard_unwatched')
    const at = Date.now()
    await aNode(['scheduler', 'worker'])
    await untilWhy(task.id, 'finished')

    expect(await why(task.id, at)).toMatchObject({
      code: 'shard_unwatched',
      facts: { shard: facts.shard, since: expect.any(String), until: expect.any(String) },
      also: [{ code: 'no_worker' }],
    })
  })

  test('an instant in the future and an unknown task are refused', async () => {
    const id = await aTask({ schedule: HOURLY })

    const ahead = await api.request('GET', `/v1/tasks/${id}/why?at=${iso(Date.now() + 60 * S)}`)
    const missing = await api.request('GET', '/v1/tasks/01900000-0000-7000-8000-000000000000/why')

    expect([ahead.status, ahead.body.errors]).toMatchObject([422, [{ pointer: '?at' }]])
    expect(missing.status).toBe(404)
  })
}
