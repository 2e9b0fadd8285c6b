import { setTimeout as delay } from 'node:timers/promises'
import { Worker as Thread } from 'node:worker_threads'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
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

/** Another thread, which watches the heartbeats of a node while this one cannot. */
const WATCHER = `
const { setTimeout: sleep } = require('node:timers/promises')
const { workerData: { url, id, ms, beats, seen } } = require('node:worker_threads')
const { Client } = require('pg')
const [done, longest] = [0, 1]
void (async () => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const beat = async () => (await client.query('select beat from node where id = $1', [id])).rows[0].beat
  const [first, begunAt] = [Number(await beat()), performance.now()]
  let [last, changedAt] = [first, begunAt]
  while (last < first + beats || performance.now() - begunAt < ms) {
    await sleep(5)
    const [now, at] = [Number(await beat()), performance.now()]
    seen[longest] = Math.max(seen[longest], at - changedAt)
    if (now !== last) changedAt = at
    last = now
  }
  Atomics.store(seen, done, 1)
  Atomics.notify(seen, done)
  await client.end()
})()`

/**
 * Keeps this thread busy, as a task that computes would: for a time, and until the node has sent some heartbeats. Returns the
 * longest silence between two of them.
 */
function blockDuringBeats(id: string, { ms, beats }: { ms: number; beats: number }): number {
  const seen = new Int32Array(new SharedArrayBuffer(8))
  new Thread(WATCHER, { eval: true, workerData: { url, id, ms, beats, seen } }).unref()
  if (Atomics.wait(seen, 0, 0, 60_000) === 'timed-out')
    throw new Error('no heartbeats while this thread is busy')
  return seen[1] ?? Number.NaN
}

test('a main thread that is busy for longer than the lease goes on beating and keeps its leases', async () => {
  const leaseMs = 2_000
  // If the machine itself kept the thread from beating, this says nothing about the main thread.
  const heard = await eventually(async () => {
    const { id, heard, stop } = await aHeartbeat({ leaseMs })
    const silentMs = blockDuringBeats(id, { ms: 1.1 * leaseMs, beats: 15 })
    // The check of the lease is overdue, so it comes first.
    await delay(1)
    const told = [...heard]
    await stop()
    return silentMs < leaseMs / 4 && told
  })

  expect(heard).toEqual([])
})

test('a node without the database is in doubt until it reconnects', async () => {
  const proxy = await startProxy(url)
  const { heard } = await aHeartbeat({ databaseUrl: proxy.url, leaseMs: 3_000 })

  proxy.cut()
  await eventually(async () => heard.includes('in doubt'))
  const before = [...heard]
  proxy.mend()
  await eventually(async () => heard.includes('certain'))

  expect(before.at(-1)).toBe('in doubt')
})

test('a node without the database is in doubt before its lease ends', async () => {
  const proxy = await startProxy(url)
  const { heard } = await aHeartbeat({ databaseUrl: proxy.url, leaseMs: 60_000 })

  proxy.cut()
  const after54s = process.hrtime.bigint() + 54_000_000_000n
  const clock = vi.spyOn(process.hrtime, 'bigint').mockReturnValue(after54s)
  onTestFinished(() => clock.mockRestore())

  await eventually(async () => heard.includes('in doubt'))
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
