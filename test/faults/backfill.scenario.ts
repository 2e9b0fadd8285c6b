/** A node dies in the middle of a backfill: another goes on at the same place, and no occurrence is written twice. */
import { expect, test } from 'vitest'
import { ask } from '../checker/observe.ts'
import { STEADY, within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { startSink } from '../support/sink.ts'

const OCCURRENCES = 1_000
/** Slow enough that a quarter of it is not all of it by the time that anybody looks. */
const RATE = '200/s'
const MINUTE_MS = 60_000

test('a backfill survives the death of the node that writes it', { timeout: within(240_000) }, async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const victim = await startBelfry(['--database-url', url, ...STEADY])
  const { body: task } = await victim.request('POST', '/v1/tasks', {
    action: { type: 'webhook', url: sink.url },
    schedule: { type: 'cron', expression: '* * * * *', timezone: 'UTC' },
    overlap: 'allow',
  })
  await victim.request('POST', `/v1/tasks/${task.id}/pause`)
  const to = Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS
  const { body: backfill } = await victim.request('POST', `/v1/tasks/${task.id}/backfill`, {
    from: new Date(to - OCCURRENCES * MINUTE_MS).toISOString(),
    to: new Date(to).toISOString(),
    rate: RATE,
  })
  await eventually(async () => sink.hits.length > OCCURRENCES / 4, { withinMs: within(60_000) })

  victim.kill('SIGKILL')
  await victim.exited
  const [atDeath] = await ask(url, 'select started, state from backfill')
  const successor = await startBelfry(['--database-url', url, ...STEADY])

  const done = await eventually(
    async () => {
      const { body } = await successor.request('GET', `/v1/backfills/${backfill.id}`)
      return body.endedAt === null ? undefined : body
    },
    { withinMs: within(90_000) },
  )
  expect(atDeath).toMatchObject({ state: 'running' })
  expect(done).toMatchObject({
    ...{ state: 'completed', started: OCCURRENCES, passedOver: 0, remaining: 0 },
    ...{ completed: OCCURRENCES, failed: 0, cancelled: 0 },
  })
  const [history] = await ask(
    url,
    `select count(*)::integer as runs, count(distinct scheduled_for)::integer as instants from run where kind = 'backfill' and state = 'completed'`,
  )
  expect(history).toEqual({ runs: OCCURRENCES, instants: OCCURRENCES })
  const delivered = new Map<string, Set<string>>()
  for (const { headers } of sink.hits) {
    const instant = String(headers['belfry-scheduled-for'])
    // Should a minute begin before the task is paused, that occurrence is the task's own.
    if (Date.parse(instant) >= to) continue
    delivered.set(instant, (delivered.get(instant) ?? new Set()).add(String(headers['webhook-id'])))
  }
  expect(delivered.size).toBe(OCCURRENCES)
  // What was in hand at the death is delivered again, as the same run.
  expect([...delivered.values()].filter((ids) => ids.size !== 1)).toEqual([])
})
