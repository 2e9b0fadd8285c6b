/** Who a worker is: its token, and how it is listed. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { createTestDatabase } from '../../support/database.ts'
import { type Answer, startOneNode } from '../../support/node.ts'
import { aWorker } from '../../support/remote-worker.ts'
import { aName, type Protocol } from './protocol.ts'

export function tokens({ db, node, other }: Protocol): void {
  test('workers are listed with what they offer', async () => {
    const name = aName()
    const worker = await aWorker(node.url, {
      handlers: [name],
      name: 'images/7',
      version: '1.2.3',
      labels: ['gpu'],
      concurrency: 7,
    })

    const { body } = await other.request('GET', '/v1/workers')

    expect(body.items.find(({ id }: { id: string }) => id === worker.id)).toMatchObject({
      name: 'images/7',
      version: '1.2.3',
      roles: ['remote'],
      state: 'alive',
      concurrency: 7,
      shards: 0,
      offers: { handlers: [name], labels: ['gpu'], queues: null },
    })
  })

  test('a program that registers in a loop gets 429 with Retry-After', async () => {
    const register = () => third.request('POST', '/v1/worker/register', { handlers: [aName()] })
    // On a slow machine thousands get through, and they would fill the limit of workers for the other tests.
    const third = await startOneNode(await createTestDatabase(), { roles: 'api', leaseMs: 600_000 })
    const answers: Answer[] = []
    while (answers.at(-1)?.status !== 429 && answers.length < 20_000)
      answers.push(...(await Promise.all(Array.from({ length: 100 }, register))))

    expect(answers.slice(0, 500).every(({ status }) => status === 201)).toBe(true)
    const refused = answers.find(({ status }) => status === 429)
    expect(refused?.body).toMatchObject({ code: 'too_many_workers' })
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test.each([
    ['no token', undefined],
    ['another scheme', 'Basic abc'],
    ['a token that is none', 'Bearer abc'],
    ['a token of nobody', `Bearer ${randomUUID()}.${'A'.repeat(43)}`],
  ])('a request with %s is refused', async (_, authorization) => {
    for (const what of ['claim', 'heartbeat', 'complete', 'return', 'stop']) {
      const run = { runId: randomUUID(), fence: 1 }
      const bodies: Record<string, unknown> = {
        claim: { requestId: randomUUID(), limit: 1 },
        complete: { runs: [{ ...run, outcome: 'completed' }] },
        return: { runs: [run] },
      }
      const headers = authorization === undefined ? {} : { authorization }
      const answer = await node.request('POST', `/v1/worker/${what}`, bodies[what], headers)
      expect(answer).toMatchObject({ status: 401, body: { code: 'unknown_token' } })
    }
  })

  test('a token with the right id and a wrong secret is refused', async () => {
    const worker = await aWorker(node.url, { handlers: [aName()] })
    const forged = `${worker.id}.${'A'.repeat(43)}`

    const answer = await node.request('POST', '/v1/worker/heartbeat', undefined, {
      authorization: `Bearer ${forged}`,
    })

    expect(answer.status).toBe(401)
    const [row] = await db.run(
      sql<{ hash: Buffer }>`select token_hash as hash from remote_worker where id = ${worker.id}`,
    )
    expect(row?.hash.toString('utf8')).not.toContain(worker.token)
  })
}
