/** A node that delivers, tasks that run at once, and subscriptions: what all parts need. */
import { expect } from 'vitest'
import type { Database } from '../../../src/store/database/database.ts'
import { aManualTask, startTestNode } from '../../support/node.ts'
import type { Hit } from '../../support/sink.ts'

/** What `startTelling` makes. */
export type Telling = Awaited<ReturnType<typeof startTelling>>

export async function startTelling(database: { url: string; db: Database }) {
  const node = await startTestNode(database)

  const create = (fields: Record<string, unknown> = {}) => aManualTask(node, fields)
  const trigger = async (id: string): Promise<string> => {
    const { status, body } = await node.request('POST', `/v1/tasks/${id}/trigger`)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.id
  }

  async function subscribe(fields: Record<string, unknown>) {
    const { status, body } = await node.request('POST', '/v1/subscriptions', fields)
    expect(status).toBe(201)
    return body
  }
  const read = async (id: string) => (await node.request('GET', `/v1/subscriptions/${id}`)).body

  return { db: database.db, node, create, trigger, subscribe, read }
}

const eventsOf = (hits: readonly Hit[]) =>
  hits.flatMap(
    ({ body }) =>
      JSON.parse(body) as { id: string; type: string; data: { run: { id: string } } }[] | { id: string },
  )
export const runIdsOf = (hits: readonly Hit[]) =>
  eventsOf(hits).map((event) => (event as { id: string }).id.split('.')[0])
