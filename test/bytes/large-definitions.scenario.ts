/**
 * 820 one-offs with definitions of 672 kB, made by ten calls and due together: half a gigabyte that waits for one instant. The node
 * is killed before it, comes back when all of it is overdue, runs it, and answers its lists to twenty who ask at once.
 * All the while it says within 200 ms that it is well, and has no more memory than is told here.
 */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import {
  BODY,
  countCompleted,
  type Phase,
  Probe,
  peakMemoryMb,
  startConfined,
  startReceiver,
  walk,
} from './large-load.ts'

const CALLS = 10
const PER_CALL = 82
const COUNT = CALLS * PER_CALL
/** A call of 55 MB is read by one parse, which nothing else can interrupt; whoever wants to be quick sends less. */
const WELL_WHILE_MAKING_MS = 1_000
const WELL_WITHIN_MS = 200
const MAKER_HEAP_MB = 1_024
const HEAP_MB = 256
const MAX_MEMORY_MB = 400

test('half a gigabyte of definitions that come due together runs and is listed', {
  timeout: 600_000,
}, async () => {
  const { url, db } = await createTestDatabase()
  const action = { type: 'webhook', url: await startReceiver(), body: BODY }
  const dueAt = new Date(Date.now() + 60_000).toISOString()
  const told: Phase[] = []
  const tell = (phase: Phase) => {
    told.push(phase)
    process.stdout.write(
      `${phase.name}: /healthz within ${phase.wellMs} ms, memory up to ${phase.memoryMb} MB\n`,
    )
  }

  const maker = await startConfined(url, MAKER_HEAP_MB)
  const making = new Probe(maker)
  const tasks = Array.from({ length: PER_CALL }, () => ({ action, schedule: { type: 'once', at: dueAt } }))
  const statuses: number[] = []
  for (let i = 0; i < CALLS; i++)
    statuses.push((await maker.request('POST', '/v1/tasks/bulk', { tasks })).status)
  tell({ name: `making ${COUNT} tasks`, wellMs: await making.take(), memoryMb: peakMemoryMb(maker.pid) })
  await making.end()
  maker.kill('SIGKILL')
  await maker.exited

  await eventually(async () => Date.now() > Date.parse(dueAt), { withinMs: 70_000, everyMs: 500 })
  const node = await startConfined(url, HEAP_MB)
  const probe = new Probe(node)
  await eventually(async () => (await countCompleted(db)) === COUNT, { withinMs: 400_000, everyMs: 200 })
  tell({ name: 'running them', wellMs: await probe.take(), memoryMb: peakMemoryMb(node.pid) })
  const lists = await Promise.all(Array.from({ length: 20 }, () => node.request('GET', '/tasks')))
  tell({ name: '20 × GET /tasks', wellMs: await probe.take(), memoryMb: peakMemoryMb(node.pid) })
  const { ids, longestPage } = await walk(node.url, '/v1/tasks?limit=200')
  tell({ name: 'GET /v1/tasks', wellMs: await probe.take(), memoryMb: peakMemoryMb(node.pid) })

  process.stdout.write(`The longest page has ${longestPage} bytes.\n`)
  expect(statuses).toEqual(Array.from({ length: CALLS }, () => 201))
  expect(lists.every(({ status, body }) => status === 200 && body.length === COUNT)).toBe(true)
  expect(new Set(ids).size).toBe(COUNT)
  const [making0, ...after] = told
  expect(making0?.wellMs).toBeLessThan(WELL_WHILE_MAKING_MS)
  expect(Math.max(...after.map(({ wellMs }) => wellMs))).toBeLessThan(WELL_WITHIN_MS)
  expect(peakMemoryMb(node.pid)).toBeLessThan(MAX_MEMORY_MB)
  expect(node.child.exitCode).toBeNull()
})
