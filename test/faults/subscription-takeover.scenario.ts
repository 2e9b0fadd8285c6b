/** The node that delivers is killed in the middle of it: another one goes on, nothing is left out, and order is kept. */
import { expect, test } from 'vitest'
import { STEADY } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { startSink } from '../support/sink.ts'

const TASKS = 6
const RUNS_EACH = 12

interface Told {
  readonly subject: string
  readonly data: { readonly run: { readonly id: string; readonly scheduledFor: string } }
}

test('another node delivers the events when the delivering node dies', { timeout: 240_000 }, async () => {
  const { url } = await createTestDatabase()
  const told: Told[] = []
  let hits = 0
  let killVictim = () => {}
  const sink = await startSink((hit) => {
    told.push(JSON.parse(hit.body))
    if (++hits === (TASKS * RUNS_EACH) / 3) killVictim()
    return { status: 200 }
  })
  const victim = await startBelfry(['--database-url', url, ...STEADY])
  const taskIds = await Promise.all(
    Array.from({ length: TASKS }, async () => {
      const task = {
        action: { type: 'sleep', duration: '0s' },
        schedule: { type: 'manual' },
        overlap: 'allow',
      }
      return (await victim.request('POST', '/v1/tasks', task)).body.id as string
    }),
  )
  const ends = new Map<string, string[]>(taskIds.map((id) => [id, []]))
  for (let i = 0; i < RUNS_EACH; i++)
    await Promise.all(
      taskIds.map(async (id) => {
        const { body } = await victim.request('POST', `/v1/tasks/${id}/trigger`)
        await eventually(
          async () => (await victim.request('GET', `/v1/runs/${body.id}`)).body.endedAt !== null,
        )
        ends.get(id)?.push(body.id)
      }),
    )
  killVictim = () => victim.kill('SIGKILL')

  await victim.request('POST', '/v1/subscriptions', {
    url: sink.url,
    after: new Date(Date.now() - 600_000).toISOString(),
  })
  await victim.exited
  const toldByVictim = told.length
  const successor = await startBelfry(['--database-url', url, ...STEADY])
  await eventually(
    async () => {
      const { body } = await successor.request('GET', '/v1/subscriptions')
      return (
        body.items[0].lastEvent !== null &&
        new Set(told.map(({ data }) => data.run.id)).size === TASKS * RUNS_EACH
      )
    },
    { withinMs: 60_000 },
  )

  expect(toldByVictim).toBeLessThan(TASKS * RUNS_EACH)
  for (const [taskId, runs] of ends) {
    const ids = told.filter(({ subject }) => subject === taskId).map(({ data }) => data.run.id)
    // Some are told twice, from somewhere in the middle on; without them they are all there, in order.
    expect(ids.filter((id, i) => ids.indexOf(id) === i)).toEqual(runs)
    const repeatedFrom = ids.findIndex((id, i) => ids.indexOf(id) !== i)
    if (repeatedFrom >= 0)
      expect(ids.slice(repeatedFrom)).toEqual(runs.slice(runs.indexOf(ids[repeatedFrom] ?? '')))
  }
})
