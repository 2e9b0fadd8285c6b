/** Who a worker is: its token, and how it is listed. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/sql.ts'
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
