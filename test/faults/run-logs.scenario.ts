/** Logs under `kill -9` of the node that stores them, and a handler that logs without end, in processes of their own. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { STEADY, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { type EventSource, openEvents } from '../support/event-source.ts'
import { eventually } from '../support/eventually.ts'
import { logOf } from '../support/logs.ts'
import { type Belfry, launch, runBelfry, startBelfry } from '../support/process.ts'

const PROGRAM = fileURLToPath(new URL('../support/logging-worker.mjs', import.meta.url))

const told = (...sources: readonly EventSource[]): string[] =>
  sources.flatMap(({ events }) =>
    events.flatMap(({ event, data }) =>
      event === 'lines' ? data.map(({ text }: { text: string }) => text) : [],
    ),
  )

const follow = ({ url }: Belfry, runId: string, lastEventId?: string) =>
  openEvents(`${url}/v1/runs/${runId}/log`, {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  })

async function aRun(node: Belfry, name: string, payload: unknown): Promise<string> {
  const action = { type: 'handler', name, payload }
  const { body: task } = await node.request('POST', '/v1/tasks', { action, schedule: { type: 'manual' } })
  const { body: run } = await node.request('POST', `/v1/tasks/${task.id}/trigger`)
  return run.id
}

test('stored log lines survive the death of a node, and a follower continues elsewhere without a gap', {
  timeout: within(180_000),
}, async () => {
  const { url } = await createTestDatabase()
  const doomed = await startBelfry(['--database-url', url, ...STEADY])
  const successor = await startBelfry(['--database-url', url, ...STEADY])
  const worker = launch([doomed.url, successor.url], { program: PROGRAM })
  await worker.said(/Ready\./)
  const lines = 200
  const runId = await aRun(doomed, 'count', { lines, everyMs: 25 })
  const before = await follow(doomed, runId)
  await before.next('lines', (items) => items.some(({ text }: { text: string }) => text === 'line 20'))

  doomed.kill('SIGKILL')
  await Promise.all([doomed.exited, before.ended.catch(() => {})])
  const last = before.events.findLast(({ event }) => event === 'lines')
  const after = await follow(successor, runId, last?.id)
  await after.next('end')

  const expected = Array.from({ length: lines }, (_, i) => `line ${i}`)
  expect(told(before, after)).toEqual(expected)
  expect((await logOf(successor, runId)).map(({ text }) => text)).toEqual(expected)
  expect(after.events.at(-1)?.data).toEqual({ reason: 'ended', state: 'completed' })
  worker.kill('SIGTERM')
  await worker.exited
})

test('logging a gibibyte neither slows a handler nor grows memory, and the log reports what is missing', {
  timeout: within(180_000),
}, async () => {
  const { url } = await createTestDatabase()
  const node = await startBelfry(['--database-url', url])
  const worker = launch([node.url], { program: PROGRAM })
  await worker.said(/Ready\./)
  const lines = 1_024 ** 2

  const runId = await aRun(node, 'flood', { lines, characters: 1_024 })
  const ended = await eventually(
    async () => {
      const { body } = await node.request('GET', `/v1/runs/${runId}`)
      return body.endedAt === null ? undefined : body
    },
    { withinMs: within(120_000) },
  )
  const log = await logOf(node, runId)
  const shown = await runBelfry(['run', 'logs', runId], { env: { BELFRY_URL: node.url } })

  expect(ended).toMatchObject({ state: 'completed', attempt: 1 })
  const kept = log.length - 1
  expect(kept).toBeGreaterThan(500)
  expect(kept).toBeLessThanOrEqual(1_024)
  expect(log.at(-1)?.text).toBe(`… ${lines - kept} more lines omitted`)
  // What the process had besides: an attempt keeps a mebibyte at most.
  expect(ended.output.result.grownBytes).toBeLessThan(100 * 1024 * 1024)
  expect(shown).toMatchObject({ code: 0, stderr: '' })
  expect(shown.stdout.split('\n')).toHaveLength(log.length + 1)
  worker.kill('SIGTERM')
  await worker.exited
})
