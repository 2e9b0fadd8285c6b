/** Two nodes, tasks for handlers, and what becomes of their runs: what all parts need. */
import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { Reaper } from '../../../src/liveness/reaper.ts'
import type { Database } from '../../../src/store/database/database.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { silentLogger } from '../../../src/telemetry/logger.ts'
import { LocalWakeUps } from '../../../src/transport/wake-ups.ts'
import { eventually } from '../../support/eventually.ts'
import { startOneNode, startTestNode } from '../../support/node.ts'
import type { GivenRun } from '../../support/remote-worker.ts'

/** Workers that are spoken by hand beat only where a test says so; none is dead because a test takes long. */
export const LEASE_MS = 600_000
const PATIENT = { leaseMs: LEASE_MS }

let names = 0
/** A name that no other test uses. */
export const aName = () => `handler-${++names}`

export const held = ({ runId, fence }: GivenRun) => ({ runId, fence })
export const completed = (run: GivenRun, more: Record<string, unknown> = {}) => ({
  ...held(run),
  outcome: 'completed',
  ...more,
})

/** What `startProtocol` makes. */
export type Protocol = Awaited<ReturnType<typeof startProtocol>>

export async function startProtocol(database: { url: string; db: Database }) {
  const { db } = database
  const node = await startTestNode(database, PATIENT)
  const other = await startOneNode(database, { ...PATIENT, roles: 'api' })

  const create = async (name: string, fields: Record<string, unknown> = {}, payload: unknown = null) => {
    const action = { type: 'handler', name, payload }
    const { status, body } = await node.request('POST', '/v1/tasks', { action, ...fields })
    expect(status).toBe(201)
    return body.id as string
  }
  const createMany = async (name: string, count: number, fields: Record<string, unknown> = {}) => {
    const tasks = Array.from({ length: count }, (_, n) => ({
      action: { type: 'handler', name, payload: { n } },
      ...fields,
    }))
    const { status } = await node.request('POST', '/v1/tasks/bulk', { tasks })
    expect(status).toBe(201)
  }
  const runOf = async ({ runId }: Pick<GivenRun, 'runId'>) =>
    (await node.request('GET', `/v1/runs/${runId}`)).body
  const isPending = (taskId: string) =>
    eventually(async () => {
      const { body } = await node.request('GET', `/v1/tasks/${taskId}`)
      return body.openRun?.state === 'pending'
    })
  /** Resolves when so many runs of a handler wait to be claimed. */
  const awaitReady = (name: string, count: number) =>
    eventually(
      async () => {
        const [ready] = await db.run(sql<{ count: number }>`
          select count(*)::integer as count from ready r
          join lane l on l.id = r.lane where l.handler = ${name}`)
        return (ready?.count ?? 0) >= count
      },
      { everyMs: 2 },
    )
  const bury = async (workerId: string) => {
    await db.run(sql`update node set dead_at = now(), reason = 'lost' where id = ${workerId}`)
    const options = { nodeId: randomUUID(), everyMs: 1_000, deadAfterMs: 60_000, batch: 1_000 }
    const clock = { now: () => Date.now() }
    await new Reaper({ ...options, db, clock, wakeUps: new LocalWakeUps(), log: silentLogger() }).runOnce()
  }

  return { db, database, node, other, create, createMany, runOf, isPending, awaitReady, bury }
}
