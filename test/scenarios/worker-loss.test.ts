/** A node is killed with work in hand, and each task has its own say on what that means for its run. */
import { expect, test } from 'vitest'
import { startSink } from '../checker/sink.ts'
import { STEADY, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'

const POLICIES = [
  ['retry', 0],
  ['count', 0],
  ['count', 1],
  ['fail', 3],
] as const

test('a killed node costs no retry, one retry or the run, according to onWorkerLoss', {
  timeout: within(180_000),
}, async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const victim = await startBelfry(['--database-url', url, ...STEADY])
  // The first delivery of each is never answered, so that it is in hand when its sender dies.
  const tasks = await Promise.all(
    POLICIES.map(([onWorkerLoss, limit]) =>
      victim.request('POST', '/v1/tasks', {
        ...{ onWorkerLoss, retry: { limit } },
        action: { type: 'webhook', url: sink.url(`${onWorkerLoss}/${limit}`, { hold: 1 }) },
      }),
    ),
  )
  await eventually(async () => sink.deliveries.length === POLICIES.length)
  const successor = await startBelfry(['--database-url', url, ...STEADY])

  victim.kill('SIGKILL')

  const latest = async (id: string) => (await successor.request('GET', `/v1/tasks/${id}/runs`)).body.items[0]
  const ended = await eventually(
    async () => {
      const runs = await Promise.all(tasks.map(({ body }) => latest(body.id)))
      return runs.every(({ endedAt }) => endedAt !== null) ? runs : undefined
    },
    { withinMs: within(90_000) },
  )
  expect(ended.map(({ state, attempt, losses }) => ({ state, attempt, losses }))).toEqual([
    { state: 'completed', attempt: 2, losses: 1 },
    { state: 'permanently_failed', attempt: 1, losses: 0 },
    { state: 'completed', attempt: 2, losses: 1 },
    { state: 'permanently_failed', attempt: 1, losses: 0 },
  ])
  expect(ended[1].error).toEqual({
    code: 'worker_lost',
    message:
      'The worker of this run stopped sending heartbeats, which counts as a failed attempt, and the retry limit of 0 is reached.',
  })
  expect(sink.deliveries).toHaveLength(POLICIES.length + 2)
})
