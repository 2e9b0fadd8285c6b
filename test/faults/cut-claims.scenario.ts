/**
 * A worker whose claims are cut at every millisecond of their making, on the way to real nodes. It repeats each of them, to the
 * same node or to another, and is told of every run that stands in its name.
 */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { ask } from '../checker/observe.ts'
import { within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { aWorker, type GivenRun } from '../support/remote-worker.ts'

const ROUNDS = 10
/** Milliseconds after which a connection is cut: a claim is made and answered within them. */
const CUTS = [0, 1, 2, 3, 4, 5, 6, 7]
const RUNS = 60
const PATIENT = ['--lease-ms', '600000']

test('a claim that is cut at any millisecond and sent again returns the runs that it took', {
  timeout: within(240_000),
}, async () => {
  const { url } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url, ...PATIENT])
  const other = await startBelfry(['--database-url', url, '--roles', 'api', ...PATIENT])
  const proxy = await startProxy(node.url)
  const worker = await aWorker(node.url, { handlers: ['cut'] })
  const tasks = Array.from({ length: RUNS }, () => ({ action: { type: 'handler', name: 'cut' } }))
  const told = new Set<string>()
  const empty: string[] = []
  const turns = Array.from({ length: ROUNDS }, () => CUTS).flat()

  for (const [turn, ms] of turns.entries()) {
    await node.request('POST', '/v1/tasks/bulk', { tasks })
    await eventually(async () => (await ask(url, 'select from ready')).length >= RUNS, { everyMs: 5 })
    const claim = { requestId: randomUUID(), limit: RUNS, waitMs: 30_000 }
    const cut = worker.say('claim', claim, proxy.url).catch(() => undefined)
    await new Promise((resolve) => setTimeout(resolve, ms))
    proxy.cut()
    proxy.mend()
    const { body } = await worker.say('claim', claim, turn % 2 === 0 ? node.url : other.url)
    await cut
    const runs = body.runs as readonly GivenRun[]
    if (runs.length === 0) empty.push(`round ${Math.floor(turn / CUTS.length)}, cut after ${ms} ms`)
    for (const { runId } of runs) told.add(runId)
  }

  const held = await ask<{ id: string }>(url, "select run_id as id from agenda where state = 'running'")
  expect(held.filter(({ id }) => !told.has(id))).toEqual([])
  expect(empty).toEqual([])
})
