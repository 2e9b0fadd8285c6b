/** A node that answers, tasks, and others that come and go: what all parts need. */
import { afterEach, expect } from 'vitest'
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startTestNode, type TestNode } from '../../support/node.ts'

export const S = 1_000
export const iso = (ms: number) => new Date(ms).toISOString()
export const NAP = { type: 'sleep', duration: '10m' }
export const QUICK = { type: 'sleep', duration: '0s' }
export const HOURLY = { type: 'every', interval: '1h' }

/** What `startAsking` makes. */
export type Asking = Awaited<ReturnType<typeof startAsking>>

export async function startAsking(database: { url: string; db: Database }) {
  const { db } = database
  const api = await startTestNode(database, { roles: ['api', 'liveness'] })

  const others: TestNode[] = []
  afterEach(async () => {
    await db.run(sql`update agenda set cancel_at = now() where state = 'running'`)
    await Promise.all(others.splice(0).map((node) => node.stop()))
  })

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

  const trigger = async (id: string) =>
    (await api.request('POST', `/v1/tasks/${id}/trigger`)).body.id as string
  const runState = (runId: string, state: string) =>
    eventually(async () => (await api.request('GET', `/v1/runs/${runId}`)).body.state === state)

  return { database, db, api, aNode, aTask, why, untilWhy, trigger, runState }
}

export const alsoOf = (answer: { also: { code: string }[] }) => answer.also.map(({ code }) => code)
