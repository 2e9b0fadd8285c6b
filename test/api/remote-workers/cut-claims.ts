/** Claims whose connection is cut at any moment of their making: the worker sends them again, and is told of every run it holds. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startProxy } from '../../support/proxy.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { aName, type Protocol } from './protocol.ts'

/** Resolves when a statement waits for a lock that a test holds. */
const untilBlocked = (db: Database) =>
  eventually(async () => {
    const waiting = await db.run(
      sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return waiting.length > 0
  })

export function cutClaims({ db, node, other, createMany, awaitReady }: Protocol): void {
  const heldBy = (workerId: string) =>
    db.run(sql<{ runId: string }>`
      select run_id as "runId" from agenda where worker_id = ${workerId} and state = 'running' order by run_id`)

  test.each([
    ['the same node', node.url],
    ['another node', other.url],
  ])(
    'a claim that is cut while it is made, and repeated at %s, gets the runs that it took',
    async (_, again) => {
      const name = aName()
      const proxy = await startProxy(node.url)
      await createMany(name, 3)
      await awaitReady(name, 3)
      const worker = await aWorker(node.url, { handlers: [name] })
      const claim = { requestId: randomUUID(), limit: 3, waitMs: 30_000 }

      const { repeated } = await db.transaction(async (tx) => {
        await tx.run(sql`select from remote_worker where id = ${worker.id} for update`)
        const cut = worker.say('claim', claim, proxy.url).catch(() => 'cut')
        await untilBlocked(db)
        proxy.cut()
        expect(await cut).toBe('cut')
        const repeated = worker.say('claim', claim, again)
        // It is a longer way to this answer than to the place where the claim waits.
        for (let i = 0; i < 3; i++) await node.request('GET', '/v1/overview')
        return { repeated }
      })

      const told = (await repeated).body.runs as GivenRun[]
      expect(told).toHaveLength(3)
      expect((await heldBy(worker.id)).map(({ runId }) => runId)).toEqual(
        told.map(({ runId }) => runId).toSorted(),
      )
    },
  )

  test('concurrent copies of one claim all get the same runs', async () => {
    const name = aName()
    const worker = await aWorker(node.url, { handlers: [name] })
    const requestId = randomUUID()
    const claims = [node.url, node.url, other.url].map((url) => worker.claim(3, { requestId, url }))
    await createMany(name, 3)

    const answers = await Promise.all(claims)

    const [first = []] = answers
    expect(first.length).toBeGreaterThan(0)
    for (const runs of answers)
      expect(runs.map(({ runId }) => runId).toSorted()).toEqual(first.map(({ runId }) => runId).toSorted())
  })

  test('a claim that was answered without runs stays empty when it is repeated', async () => {
    const name = aName()
    const worker = await aWorker(node.url, { handlers: [name] })
    const requestId = randomUUID()
    expect(await worker.claim(1, { requestId, waitMs: 0 })).toEqual([])
    await createMany(name, 1)
    await awaitReady(name, 1)

    expect(await worker.claim(1, { requestId, url: other.url })).toEqual([])
    expect(await worker.claim(1, { requestId })).toEqual([])

    expect(await heldBy(worker.id)).toEqual([])
    expect(await worker.claim(1)).toHaveLength(1)
  })

  test('a claim that does not wait takes the pending runs', async () => {
    const name = aName()
    await createMany(name, 1)
    await awaitReady(name, 1)
    const worker = await aWorker(node.url, { handlers: [name] })

    expect(await worker.claim(1, { waitMs: 0 })).toHaveLength(1)
  })

  test('a waiting claim gets 410 when its worker is declared dead', async () => {
    const worker = await aWorker(node.url, { handlers: [aName()] })
    const answer = worker.say('claim', { requestId: randomUUID(), limit: 1, waitMs: 30_000 })
    const startedAt = performance.now()

    await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${worker.id}`)

    expect(await answer).toMatchObject({ status: 410, body: { code: 'worker_gone' } })
    expect(performance.now() - startedAt).toBeLessThan(28_000)
  })

  test('a waiting claim whose client disconnects takes nothing', async () => {
    const name = aName()
    const proxy = await startProxy(node.url)
    const worker = await aWorker(node.url, { handlers: [name] })
    const gone = worker.claim(1, { url: proxy.url }).catch(() => 'cut')
    await worker.say('heartbeat')

    proxy.cut()
    expect(await gone).toBe('cut')
    await createMany(name, 1)
    const successor = await aWorker(node.url, { handlers: [name] })

    expect(await successor.claim(1)).toHaveLength(1)
    expect(await eventually(async () => (await heldBy(worker.id)).length === 0)).toBe(true)
  })
}
