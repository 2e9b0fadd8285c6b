/** Every node is replaced, one after the other, while tasks come due all the time: nobody outside notices. */
import { expect, test } from 'vitest'
import { within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { ask, doubledOccurrences } from '../support/load.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { startSink } from '../support/sink.ts'

const TASKS = 40
const INTERVAL_MS = 200

interface RunRow {
  readonly task: string
  readonly due: string
  readonly state: string
}

test('a rolling restart of all nodes under load loses nothing and doubles nothing', {
  timeout: 3 * within(30_000),
}, async () => {
  const { url } = await createTestDatabase()
  const sink = await startSink()
  const nodes: Belfry[] = [
    await startBelfry(['--database-url', url]),
    await startBelfry(['--database-url', url]),
  ]
  const tasks = Array.from({ length: TASKS }, (_, i) => ({
    name: `t${i}`,
    action: { type: 'webhook', url: `${sink.url}/${i}` },
    schedule: { type: 'every', interval: `${INTERVAL_MS}ms` },
    overlap: 'allow',
  }))
  const { body } = await (nodes[0] as Belfry).request('POST', '/v1/tasks/bulk', { tasks })
  const ids: string[] = body.items.map(({ id }: { id: string }) => id)
  await eventually(async () => sink.hits.length > TASKS * 5, { withinMs: within(10_000) })

  for (let i = 0; i < 2; i++) {
    const replacement = await startBelfry(['--database-url', url])
    const old = nodes.shift() as Belfry
    old.kill('SIGTERM')
    expect((await old.exited).code).toBe(0)
    nodes.push(replacement)
    const before = sink.hits.length
    await eventually(async () => sink.hits.length > before + TASKS * 5, { withinMs: within(10_000) })
  }
  const [last] = nodes
  await Promise.all(ids.map((id) => (last as Belfry).request('POST', `/v1/tasks/${id}/cancel`)))
  await eventually(
    async () => (await ask<{ left: number }>(url, 'select count(*)::int as left from agenda'))[0]?.left === 0,
    { withinMs: within(10_000) },
  )

  const runs = await ask<RunRow>(
    url,
    `
    select task_id as task, extract(epoch from scheduled_for) * 1000 as due, state, losses from run where state <> 'skipped' order by 1, 2`,
  )
  expect(runs.filter(({ state }) => state !== 'completed' && state !== 'cancelled')).toEqual([])
  expect(await doubledOccurrences(url)).toEqual([])
  expect(missingInstants(runs)).toEqual([])
  expect(repeated(sink.hits.map((hit) => String(hit.headers['webhook-id'])))).toEqual([])
})

/** Instants of a task's grid between its first and its last run that have none. */
function missingInstants(runs: readonly RunRow[]): string[] {
  const missing: string[] = []
  for (const [i, { task, due }] of runs.entries()) {
    const next = runs[i + 1]
    if (next?.task === task && Number(next.due) - Number(due) !== INTERVAL_MS)
      missing.push(`${task} after ${due}`)
  }
  return missing
}

function repeated(ids: readonly string[]): string[] {
  const seen = new Set<string>()
  return ids.filter((id) => seen.has(id) || !seen.add(id))
}
