/** Tasks whose events are refused: held back alone, given up, and told in the end. */
import { expect, test } from 'vitest'
import { sql } from '../../../src/store/database/sql.ts'
import { eventually } from '../../support/eventually.ts'
import { startSharedSink } from '../../support/sink.ts'
import { runIdsOf, type Telling } from './telling.ts'

/** A receiver that refuses the events of some tasks. */
async function startPickySink() {
  const refused = new Set<string>()
  /** Runs whose events were taken, each once, in the order of the first time. */
  const taken = new Set<string>()
  const sink = await startSharedSink((hit) => {
    const events = [JSON.parse(hit.body)].flat() as { subject: string }[]
    if (events.some(({ subject }) => refused.has(subject))) return { status: 500 }
    for (const id of runIdsOf([hit])) taken.add(id as string)
    return { status: 200 }
  })
  return { ...sink, refused, taken }
}

const isTold = ({ taken }: { taken: Set<string> }, runs: readonly string[]) =>
  runs.every((id) => taken.has(id))

/** A change is noticed within 5 s, and machines may be busy. */
const patiently = <T>(ask: () => Promise<T | undefined | false | null>) => eventually(ask, { everyMs: 50 })

const LONG = { timeout: 240_000 }

export function suspendedTasks({ db, node, create, trigger, subscribe, read }: Telling): void {
  /** Runs tasks one after another, so that the order of each is known. */
  async function runInTurn(taskIds: readonly string[]) {
    const runs: string[] = []
    for (const taskId of taskIds) {
      const id = await trigger(taskId)
      await patiently(async () => (await node.request('GET', `/v1/runs/${id}`)).body.endedAt !== null)
      runs.push(id)
    }
    return runs
  }

  /** Whoever delivers reads the subscription anew. */
  const age = (id: string) =>
    db.run(sql`
    update subscription set failing_since = failing_since - interval '2 hours', retry_at = '-infinity', fence = fence + 1,
      held = (select coalesce(jsonb_agg(h || jsonb_build_object('failingSince', (h ->> 'failingSince')::bigint - 7200000, 'retryAt', 0)), '[]')
              from jsonb_array_elements(held) h)
    where id = ${id}`)

  test.concurrent.each([1, 10])(
    'one task whose event is refused does not hold up others, in messages of up to %i',
    LONG,
    async (batchSize) => {
      const sink = await startPickySink()
      const tasks = [await create(), await create(), await create()] as const
      const [bad, ...good] = tasks
      sink.refused.add(bad)
      const { id } = await subscribe({ url: sink.url, batchSize, filter: { taskIds: [...tasks] } })

      const first = await runInTurn([bad, ...good])
      await patiently(async () => isTold(sink, first.slice(1)) && (await read(id)).held.length === 1)
      const second = await runInTurn([bad, ...good])
      await patiently(async () => isTold(sink, second.slice(1)))
      const failing = await patiently(async () => {
        const now = await read(id)
        return now.held[0]?.failures > 0 && now.delivered >= 4 ? now : undefined
      })
      const early = sink.taken.has(second[0] as string)
      sink.refused.clear()
      await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
      const mended = await patiently(async () => {
        const now = await read(id)
        return isTold(sink, second) && now.held.length === 0 ? now : undefined
      })

      expect(failing).toMatchObject({
        state: 'failing',
        retryAt: expect.any(String),
        lastError: { code: 'http_status', message: expect.stringContaining('500') },
        held: [{ taskId: bad, retryAt: expect.any(String), lastError: { code: 'http_status' } }],
      })
      expect(early).toBe(false)
      expect(mended).toMatchObject({ state: 'active', lastError: null, failures: 0 })
      const ofBad = [...sink.taken].filter((run) => run === first[0] || run === second[0])
      expect(ofBad).toEqual([first[0], second[0]])
    },
  )

  test.concurrent(
    'a receiver that refuses everything is tried rarely, and gets every event once it accepts',
    LONG,
    async () => {
      const sink = await startPickySink()
      const tasks = await Promise.all(Array.from({ length: 8 }, () => create()))
      for (const task of tasks) sink.refused.add(task)
      const since = new Date(Date.now() - 1_000).toISOString()
      const runs = await runInTurn([...tasks, ...tasks])
      const { id } = await subscribe({ url: sink.url, after: since, filter: { taskIds: tasks } })

      const failing = await patiently(async () => {
        const now = await read(id)
        return now.failures > 1 ? now : undefined
      })
      const tried = sink.hits.length
      sink.refused.clear()
      await node.request('PATCH', `/v1/subscriptions/${id}`, { name: 'mended' })
      await patiently(async () => isTold(sink, runs) && (await read(id)).held.length === 0)

      expect(failing).toMatchObject({ state: 'failing', retryAt: expect.any(String), delivered: 0 })
      expect(failing.held.length).toBeLessThan(3)
      expect(tried).toBeLessThan(40)
      const order = [...sink.taken]
      for (const [i, run] of runs.slice(0, tasks.length).entries())
        expect(order.indexOf(run)).toBeLessThan(order.indexOf(runs[i + tasks.length] as string))
    },
  )

  test.concurrent(
    'deliveries of a task stop after giveUpAfter and continue without gaps when resumed',
    LONG,
    async () => {
      const sink = await startPickySink()
      const [bad, good] = [await create(), await create()]
      sink.refused.add(bad)
      const { id } = await subscribe({ url: sink.url, giveUpAfter: '1h', filter: { taskIds: [bad, good] } })
      const first = await runInTurn([bad, good])
      await patiently(async () => isTold(sink, first.slice(1)) && (await read(id)).held[0]?.failures > 0)

      await age(id)
      const [next] = await runInTurn([good])
      const givenUp = await patiently(async () => {
        const now = await read(id)
        return now.held[0]?.retryAt === null && isTold(sink, [next as string]) ? now : undefined
      })
      const passedBy = await runInTurn([bad])
      sink.refused.clear()
      const resumed = await node.request('POST', `/v1/subscriptions/${id}/resume`)
      await patiently(async () => isTold(sink, [...first, ...passedBy]) && (await read(id)).held.length === 0)

      expect(givenUp).toMatchObject({ state: 'failing', retryAt: null, disabledAt: null })
      expect(resumed.body).toMatchObject({ state: 'active' })
    },
  )

  test.concurrent(
    'a subscription whose receiver accepts nothing for giveUpAfter is disabled',
    LONG,
    async () => {
      const sink = await startSharedSink(() => ({ status: 500 }))
      const taskId = await create()
      const { id } = await subscribe({ url: sink.url, giveUpAfter: '1h', filter: { taskIds: [taskId] } })
      await trigger(taskId)
      await patiently(async () => (await read(id)).state === 'failing')

      await age(id)
      const disabled = await patiently(async () => {
        const now = await read(id)
        return now.state === 'disabled' ? now : undefined
      })

      expect(disabled).toMatchObject({ lastError: { code: 'http_status' }, retryAt: null })
    },
  )
}
