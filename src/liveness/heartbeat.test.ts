import { afterAll, expect, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { startProxy } from '../../test/support/proxy.ts'
import { uuidv7 } from '../core/ids.ts'
import { sql } from '../store/database/sql.ts'
import { declareDead } from '../store/nodes/nodes.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { Heartbeat } from './heartbeat.ts'

const { url, db } = await createTestDatabase()

async function aHeartbeat({ databaseUrl = url, everyMs = 50, leaseMs = 500 } = {}) {
  const id = uuidv7()
  const heard: string[] = []
  const heartbeat = new Heartbeat({
    node: { id, name: 'test', version: '0', roles: ['worker'], concurrency: 1 },
    db,
    databaseUrl,
    log: silentLogger(),
    everyMs,
    leaseMs,
    onDoubt: (isInDoubt) => heard.push(isInDoubt ? 'in doubt' : 'certain'),
    onDeclaredDead: () => heard.push('declared dead'),
  })
  await heartbeat.start()
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= heartbeat.stop()
    return stopped
  }
  afterAll(stop)
  return { id, heard, stop }
}

async function nodeRow(id: string) {
  const [row] = await db.run(
    sql<{ beat: number; reason: string | null }>`select beat, reason from node where id = ${id}`,
  )
  return row
}

/** Keeps this thread busy, as a task that computes would. */
function block(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

test('a main thread that is busy for longer than the lease goes on beating and keeps its leases', async () => {
  const { id, heard } = await aHeartbeat({ leaseMs: 2_000 })
  const before = (await nodeRow(id))?.beat ?? 0

  block(2_200)

  expect((await nodeRow(id))?.beat).toBeGreaterThan(before + 10)
  await eventually(async () => ((await nodeRow(id))?.beat ?? 0) > before + 15)
  expect(heard).toEqual([])
})

test('a node without the database is in doubt before its lease ends, and certain once it reconnects', async () => {
  const proxy = await startProxy(url)
  const { heard } = await aHeartbeat({ databaseUrl: proxy.url, leaseMs: 3_000 })

  const cutAt = performance.now()
  proxy.cut()
  await eventually(async () => heard.includes('in doubt'))
  expect(performance.now() - cutAt).toBeLessThan(3_000)

  proxy.mend()
  await eventually(async () => heard.includes('certain'))
})

test('a node that was declared dead is notified', async () => {
  const { id, heard } = await aHeartbeat()

  await db.run(declareDead({ nodeId: id, beat: null, reason: 'lost' }))

  await eventually(async () => heard.includes('declared dead'))
})

test('a node that stops normally records it', async () => {
  const { id, stop } = await aHeartbeat()

  await stop()

  expect((await nodeRow(id))?.reason).toBe('stopped')
})
