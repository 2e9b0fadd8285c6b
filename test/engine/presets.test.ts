/** Two nodes of each preset, all in this process: however seldom they look, nobody waits for it. */
import { expect, test } from 'vitest'
import { PRESET_NAMES } from '../../src/runtime/config/presets.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode, type TestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'

/** Far less than the pause between two looks of the slowest preset. */
const SOON_MS = 40_000

test.each(PRESET_NAMES)(
  'with preset %s both nodes start runs that are due now or soon, repeatedly',
  async (preset) => {
    const database = await createTestDatabase()
    const { db } = database
    // One of them allows no period under a minute.
    const flags = { preset, minPeriodMs: 10 }
    const sink = await startSink((hit, count) => ({
      status: hit.path === '/flaky' && count % 2 === 1 ? 500 : 200,
    }))
    const nodes = [await startTestNode(database, flags), await startTestNode(database, flags)]
    const create = async (i: number, body: object): Promise<string> =>
      (await (nodes[i % 2] as TestNode).request('POST', '/v1/tasks', body)).body.id
    const webhook = (path: string) => ({ type: 'webhook', url: `${sink.url}${path}` })
    const soon = () => new Date(Date.now() + 700).toISOString()
    // Enough of each for both nodes to own some and to have created others that the other one owns.
    const tasks = Array.from({ length: 16 }, (_, i) => i)
    await eventually(async () => (await db.run(sql`select from shard where owner is null`)).length === 0)

    const now = await Promise.all(tasks.map((i) => create(i, { action: webhook('/now') })))
    const later = await Promise.all(
      tasks.map((i) => create(i, { action: webhook('/later'), schedule: { type: 'once', at: soon() } })),
    )
    const every = await Promise.all(
      tasks.map((i) =>
        create(i, { action: webhook('/every'), schedule: { type: 'every', interval: '150ms' }, maxRuns: 4 }),
      ),
    )
    const flaky = await Promise.all(
      tasks.map((i) =>
        create(i, { action: webhook('/flaky'), retry: { limit: 20, initial: '20ms', max: '100ms' } }),
      ),
    )
    const ended = async (ids: readonly string[]) =>
      db.run(sql<{ state: string; late: number }>`
      select state, late_ms as late from run where task_id = any(${ids}::uuid[]) and reason is null`)
    const all = [...now, ...later, ...every, ...flaky]
    const left = () =>
      db.run(sql`
      select kind, state, wake_at, attempt, worker_id, task_id, shard, owner, now() from agenda join shard s on s.id = shard
      where task_id = any(${all}::uuid[])`)
    await eventually(async () => (await left()).length === 0, { withinMs: SOON_MS, otherwise: left })

    const runs = await ended(all)
    expect(new Set(runs.map(({ state }) => state))).toEqual(new Set(['completed']))
    expect(Math.max(...runs.map(({ late }) => late))).toBeLessThan(SOON_MS)
    expect(await ended([...now, ...later, ...flaky])).toHaveLength(48)
    expect(sink.hits.filter(({ path }) => path === '/every').length).toBeGreaterThanOrEqual(16)
  },
  2 * SOON_MS,
)

test('preset minute-cron allows periods from a minute to 30 days, unless the project or the node says otherwise', async () => {
  const database = await createTestDatabase()
  const strict = await startTestNode(database, { preset: 'minute-cron', roles: 'api' })
  const every = async (node: TestNode, interval: string) => {
    const schedule = { type: 'every', interval }
    const { body } = await node.request('POST', '/v1/tasks', {
      action: { type: 'sleep', duration: '0s' },
      schedule,
    })
    return body.code ?? 'created'
  }

  const shown = (await strict.request('GET', '/v1/projects/default')).body.limits
  const before = [await every(strict, '59s'), await every(strict, '1m'), await every(strict, '31d')]
  await strict.request('PATCH', '/v1/projects/default', { limits: { minPeriod: '1s' } })
  const after = [await every(strict, '2s'), await every(strict, '31d')]

  expect(shown).toMatchObject({ minPeriod: '1m', maxAhead: '30d' })
  expect(before).toEqual(['beyond_limits', 'created', 'beyond_limits'])
  expect(after).toEqual(['created', 'beyond_limits'])
})
