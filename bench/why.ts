import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '../src/store/database/sql.ts'
import { DAY_MS, makeHistory, makePastDays } from '../test/support/history.ts'
import { startNodes } from './support/belfry.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { createBelfryDatabase, startPostgres, vacuum } from './support/postgres.ts'
import { fill, HOUR_MS } from './support/tasks.ts'

interface Row {
  /** The state that the task was brought into, or the instant that is asked about. */
  readonly about: string
  readonly code: string
  readonly took: Percentiles
}

const DAYS = 10
const SLEEP = { type: 'sleep', duration: '10m' }
const MANUAL = { type: 'manual' }
/** Runs that wait for a worker before the one that is asked about. */
const BACKLOG = 20_000
const UNTIL_SO_MS = 60_000
/** Shards of a node that has ended are unwatched after this. */
const UNWATCHED_MS = 6_000

await benchmark({
  name: 'why',
  question:
    'How long does it take to tell why a task is not running, for each cause, beside a million tasks and runs?',
  options: {
    tasks: whole(1_000_000, 'Tasks that are due later'),
    runs: whole(1_000_000, 'Runs in history'),
    times: whole(40, 'How often each question is asked'),
  },
  run: async ({ tasks, runs, times }, report) => {
    const server = await startPostgres()
    const { url, db } = await createBelfryDatabase(server, 'bench_why')
    report.step(`creating ${tasks} tasks and ${runs} runs`)
    const from = Date.now() + DAY_MS
    const schedule = { type: 'every', interval: '1h' } as const
    await fill(url, { count: tasks, dueAt: (i) => from + ((i * 7_919) % DAY_MS), definition: { schedule } })
    await makePastDays(db, DAYS)
    const taskIds = (await db.run(sql<{ id: string }>`select id from task limit 10000`)).map(({ id }) => id)
    const until = Date.now()
    await makeHistory(db, { runs, from: until - DAYS * DAY_MS, until, taskIds })
    await db.run(
      sql`update task set created_at = now() - interval '30 days' where id = any(${taskIds}::uuid[])`,
    )
    await vacuum(db)
    // As many slots as there are runs below that never end.
    const [working] = await startNodes(1, url, ['--concurrency', '3'])
    const [asking] = await startNodes(1, url, ['--roles', 'api'])
    const say = async (method: string, path: string, body?: unknown): Promise<Record<string, string>> => {
      const headers = body === undefined ? {} : { 'content-type': 'application/json' }
      const text = body === undefined ? null : JSON.stringify(body)
      const answer = await fetch(`${asking?.url}/v1${path}`, { method, headers, body: text })
      const told = (await answer.json()) as Record<string, string>
      if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(told)}`)
      return told
    }
    const make = async (fields: object) =>
      (await say('POST', '/tasks', { action: SLEEP, ...fields }))['id'] as string
    const rows: Row[] = []
    /** Waits for the answer with the given code, and then measures how long that answer takes. */
    const ask = async (code: string, about: string, id: string, query = '') => {
      const deadline = Date.now() + UNTIL_SO_MS
      for (;;) {
        const { code: told } = await say('GET', `/tasks/${id}/why${query}`)
        if (told === code) break
        if (Date.now() > deadline) throw new Error(`${about}: the answer is ${told} and not ${code}`)
        await delay(100)
      }
      const took: number[] = []
      for (let n = 0; n < times; n++) {
        const begunAt = performance.now()
        await say('GET', `/tasks/${id}/why${query}`)
        took.push(performance.now() - begunAt)
      }
      rows.push({ about, code, took: percentilesOf(took) })
    }

    report.step('asking')
    const [busy = '', quiet = ''] = taskIds
    const ago = (share: number) => `?at=${new Date(until - share * DAYS * DAY_MS).toISOString()}`
    await ask('not_due', `a task with ${runs / 10} runs in history`, busy)
    await ask('not_due', 'a task with few', quiet)
    for (const share of [0.01, 0.5, 0.99])
      await ask('not_due', `the busy one, after ${share} of its days`, busy, ago(share))
    await ask('before_history', 'before all history', busy, ago(1.5))
    await ask('manual_only', 'no schedule', await make({ schedule: MANUAL }))
    const paused = await make({ schedule })
    await say('POST', `/tasks/${paused}/pause`, {})
    await ask('paused', 'paused', paused)
    await ask('not_created', 'before its creation', paused, ago(0.5))
    const cancelled = await make({ schedule })
    await say('POST', `/tasks/${cancelled}/cancel`)
    await ask('cancelled', 'cancelled', cancelled)
    await ask('finished', 'ran once', await make({ action: { type: 'sleep', duration: '0s' } }))
    await ask(
      'retry_wait',
      'nobody answers',
      await make({
        action: { type: 'ping', url: 'http://127.0.0.1:1' },
        retry: { initial: '30s', max: '30s' },
      }),
    )
    const lost = await make({ schedule })
    await db.run(sql`delete from agenda where task_id = ${lost}`)
    await ask('next_row_lost', 'its row is gone', lost)
    await ask(
      'no_worker',
      'a handler that nobody offers',
      await make({ action: { type: 'handler', name: 'h' } }),
    )
    await ask('no_capable_worker', 'a label that nobody has', await make({ labels: ['gpu'] }))
    await ask('running', 'running', await make({ concurrencyKey: 'k', concurrencyLimit: 1 }))
    await ask('key_full', 'its key is taken', await make({ concurrencyKey: 'k', concurrencyLimit: 1 }))
    await say('PATCH', '/queues/narrow', { concurrencyLimit: 1 })
    await ask('running', 'running in a queue', await make({ queue: 'narrow' }))
    await ask('queue_full', 'its queue is full', await make({ queue: 'narrow' }))
    await say('POST', '/queues/narrow/pause')
    await ask('queue_paused', 'its queue is paused', await make({ queue: 'narrow' }))
    const line = await make({ schedule: MANUAL, overlap: 'queue_all' })
    await say('POST', `/tasks/${line}/trigger`)
    await ask('running', 'triggered', line)
    await fill(url, {
      count: BACKLOG,
      dueAt: () => Date.now(),
      definition: { action: { type: 'sleep', duration: '10m' } },
    })
    await ask('workers_busy', `behind ${BACKLOG} runs`, await make({ priority: 9 }))
    await say('POST', '/blackouts', {
      name: 'b',
      window: {
        type: 'range',
        from: new Date().toISOString(),
        to: new Date(Date.now() + HOUR_MS).toISOString(),
      },
    })
    await ask('not_due', 'during a blackout', quiet)
    report.step('ending the node')
    await working?.stop()
    await delay(UNWATCHED_MS)
    await ask(
      'shard_unwatched',
      'nobody is there',
      await make({ schedule: { type: 'once', at: new Date().toISOString() } }),
    )
    report.table<Row>(
      'rows',
      `${tasks} tasks, ${runs} runs, ${times} questions each, milliseconds as a client sees them`,
      [
        { title: 'about', of: (row) => row.about },
        { title: 'code', of: (row) => row.code },
        ...percentileColumns<Row>('took', (row) => row.took),
      ],
      rows,
    )
  },
})
