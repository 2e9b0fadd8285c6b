/**
 * 820 one-offs with definitions of 672 kB, made by twenty calls and due together: half a gigabyte that waits for one instant.
 * The node is killed while it runs them, comes back when the rest is overdue, runs it, and answers its lists to twenty clients
 * at once. All the while it answers /healthz within 200 ms, and has no more memory than is stated here.
 */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import type { Belfry } from '../support/process.ts'
import {
  BODY,
  countCompleted,
  makeAllDue,
  type Phase,
  Probe,
  peakMemoryMb,
  post,
  startConfined,
  startReceiver,
  walk,
} from './large-load.ts'

const CALLS = 20
const PER_CALL = 41
const COUNT = CALLS * PER_CALL
const KILLED_AFTER = COUNT / 2
const HEAP_MB = 256
const MAX_MEMORY_MB = 400
const WELL_WITHIN_MS = 200

test('tasks with half a gigabyte of definitions that are due together run and are listed', {
  timeout: 600_000,
}, async () => {
  const { url, db } = await createTestDatabase()
  const action = { type: 'webhook', url: await startReceiver(), body: BODY }
  const schedule = { type: 'once', at: new Date(Date.now() + 3_600_000).toISOString() }
  const tasks = Array.from({ length: PER_CALL }, () => ({ action, schedule }))
  const phases: Phase[] = []
  const tell = async (name: string, { pid }: Belfry, probe: Probe) => {
    const phase = { name, well: await probe.take(), memoryMb: peakMemoryMb(pid) }
    const [within, own, busy] = [phase.well.answeredMs, phase.well.ownMs, phase.well.busyMs].map(Math.round)
    const times = `within ${within} ms, ${own} ms without waits for a processor, ${busy} ms of work`
    process.stdout.write(`${name}: /healthz ${times}; memory up to ${phase.memoryMb} MB\n`)
    phases.push(phase)
  }

  const first = await startConfined(url, HEAP_MB)
  const before = new Probe(first)
  const text = JSON.stringify({ tasks })
  const statuses: number[] = []
  for (let i = 0; i < CALLS; i++) statuses.push(await post(`${first.url}/v1/tasks/bulk`, text))
  await tell(`making ${COUNT} tasks`, first, before)
  await makeAllDue(db)
  await eventually(async () => (await countCompleted(db)) >= KILLED_AFTER, {
    withinMs: 200_000,
    everyMs: 200,
  })
  await tell('running half of them', first, before)
  await before.end()
  first.kill('SIGKILL')
  await first.exited

  const node = await startConfined(url, HEAP_MB)
  const probe = new Probe(node)
  await eventually(async () => (await countCompleted(db)) === COUNT, { withinMs: 200_000, everyMs: 200 })
  await tell('running the rest, overdue', node, probe)
  const lists = await Promise.all(Array.from({ length: 20 }, () => node.request('GET', '/tasks')))
  await tell('20 × GET /tasks', node, probe)
  const { ids, longestPage } = await walk(node.url, '/v1/tasks?limit=200')
  await tell('GET /v1/tasks', node, probe)

  process.stdout.write(`The longest page has ${longestPage} bytes.\n`)
  expect(statuses).toEqual(Array.from({ length: CALLS }, () => 201))
  expect(lists.every(({ status, body }) => status === 200 && body.length === COUNT)).toBe(true)
  expect(new Set(ids).size).toBe(COUNT)
  for (const { name, well, memoryMb } of phases) {
    expect(well.ownMs, name).toBeLessThan(WELL_WITHIN_MS)
    expect(well.busyMs, name).toBeLessThan(WELL_WITHIN_MS)
    expect(memoryMb, name).toBeLessThan(MAX_MEMORY_MB)
  }
  expect(node.child.exitCode).toBeNull()
})
