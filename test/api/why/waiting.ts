/** A scheduler and a worker are there, and the task waits: for its queue, its key, its retry, itself. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startTestNode, type TestNode } from '../../support/node.ts'
import { type Asking, alsoOf, HOURLY, NAP } from './asking.ts'

const PLAIN = { roles: ['scheduler', 'worker'], shutdownGraceMs: 1 }

export function waiting({ database, db, api, aTask, why, untilWhy, trigger, runState }: Asking): void {
  describe('with a scheduler and a worker:', () => {
    let node: TestNode
    beforeAll(async () => {
      node = await startTestNode(database, PLAIN)
    })
    afterAll(() => node.stop())

    test('no_worker: a handler needs a remote worker', async () => {
      const id = await aTask({ action: { type: 'handler', name: 'rotate-keys' } })

      expect(await untilWhy(id, 'no_worker')).toMatchObject({ facts: { handler: 'rotate-keys', workers: 0 } })
    })

    test('running, then finished', async () => {
      const id = await aTask({ action: NAP })

      const running = await untilWhy(id, 'running')
      await api.request('POST', `/v1/runs/${running.facts.runId}/cancel`)
      const finished = await untilWhy(id, 'finished')

      expect(running.facts).toMatchObject({ runState: 'running', attempt: 1, workerId: expect.any(String) })
      expect(finished).toMatchObject({ facts: { runId: running.facts.runId, runState: 'cancelled' } })
    })

    test('queue_paused: the next instant is not listed as a further cause', async () => {
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

      expect((await untilWhy(second, 'queue_full')).facts).toMatchObject({
        queue: 'narrow',
        limit: 1,
        held: 1,
      })
    })

    test('key_full', async () => {
      const first = await aTask({ concurrencyKey: 'customer', action: NAP })
      await untilWhy(first, 'running')
      const second = await aTask({ concurrencyKey: 'customer' })

      expect((await untilWhy(second, 'key_full')).facts).toMatchObject({ key: 'customer', limit: 1, held: 1 })
    })

    test('retry_wait, now and in the past', async () => {
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

    test('overlap: a run waits for another run of its task', async () => {
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

    test('overlap in the past: an occurrence was skipped because of an active run', async () => {
      const id = await aTask({ action: NAP, schedule: { type: 'every', interval: '1s' } })
      const skip = await eventually(async () => {
        const { body } = await api.request('GET', `/v1/tasks/${id}/runs?state=skipped`)
        // A skip is recorded a moment ahead; what is asked about below is its instant.
        return body.items.find(
          ({ scheduledFor }: { scheduledFor: string }) => Date.parse(scheduledFor) < Date.now(),
        )
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
}
