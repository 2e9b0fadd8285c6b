import { uuidv7 } from '../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../src/core/values/default-project.ts'
import { type Statement, sql } from '../src/store/database/sql.ts'
import { NO_ID, runsEndedAs, runsInWindow } from '../src/store/history/run-search.ts'
import { runsOfTask } from '../src/store/history/runs.ts'
import { DAY_MS, makeHistory, makePastDays } from '../test/support/history.ts'
import { startNodes } from './support/belfry.ts'
import { percentileColumns } from './support/columns.ts'
import { benchmark, flag, whole } from './support/command.ts'
import { type Percentiles, percentilesOf } from './support/percentiles.ts'
import { type BenchDatabase, createBelfryDatabase, startPostgres, vacuum } from './support/postgres.ts'
import type { Report } from './support/report.ts'
import { fill } from './support/tasks.ts'

interface Row {
  readonly question: string
  readonly pages: number
  readonly items: number
  readonly took: Percentiles
}

/** One in this many runs belongs to the busiest task. */
const BUSY_EVERY = 10
/** Share of the latest runs, which have not been vacuumed or analyzed: history always has such a part. */
const TAIL_SHARE = 0.005

const SCAN = /Scan|Append|Sort|Limit|Execution Time/
/** The day in the names of partitions and their indexes, which differ in nothing else. */
const DAY = /_20\d{6}/g

await benchmark({
  name: 'history',
  question: 'How long does it take to read lists when history holds ten million runs?',
  options: {
    runs: whole(10_000_000, 'Runs in history'),
    days: whole(10, 'Days that they are spread over'),
    tasks: whole(100_000, 'Tasks that they belong to, each due later'),
    pages: whole(100, 'Pages read of each list, one after the other'),
    limit: whole(50, 'Runs a page'),
    explain: flag('Print the plans too'),
  },
  run: async ({ runs, days, tasks, pages, limit, explain }, report) => {
    const server = await startPostgres()
    const database = await createBelfryDatabase(server, 'bench_history')
    const { taskIds, until } = await makeAll(database, { runs, days, tasks }, report)
    const [busy = '', quiet = ''] = taskIds
    const [node] = await startNodes(1, database.url, ['--roles', 'api'])
    const ago = (part: number) => new Date(Date.now() - part * days * DAY_MS).toISOString()
    const lists: [string, string][] = [
      ['runs', '/v1/runs?'],
      ['runs, from the middle on', `/v1/runs?to=${ago(0.5)}`],
      ['runs that completed', '/v1/runs?state=completed'],
      ['runs that failed for good', '/v1/runs?state=permanently_failed'],
      ['runs that were cancelled', '/v1/runs?state=cancelled'],
      ['runs that are running', '/v1/runs?state=running'],
      [`runs of a task with ${runs / BUSY_EVERY}`, `/v1/tasks/${busy}/runs?`],
      ['those of them that failed', `/v1/tasks/${busy}/runs?state=permanently_failed`],
      [`runs of a task with ${Math.round(runs / tasks)}`, `/v1/tasks/${quiet}/runs?`],
      ['tasks', '/v1/tasks?'],
      ['tasks with their latest runs', '/v1/tasks?include=recent,next'],
      ['attempts of the first of them', `/v1/tasks/${busy}/attempts?`],
    ]
    const once: [string, string][] = [
      ['the overview', '/v1/stats?'],
      ['nodes', '/v1/nodes?'],
      ['why a task is not running', `/v1/tasks/${busy}/why?`],
      ['why it was not, half way back', `/v1/tasks/${busy}/why?at=${ago(0.5)}`],
      [
        'its ledger of the last hour',
        `/v1/tasks/${busy}/ledger?from=${new Date(Date.now() - 3_600_000).toISOString()}`,
      ],
    ]
    const rows: Row[] = []
    for (const [question, address] of once) rows.push(await walk(question, `${node?.url}${address}`, 1))
    for (const [question, address] of lists)
      rows.push(await walk(question, `${node?.url}${address}&limit=${limit}`, pages))
    report.table<Row>(
      'rows',
      `${runs} runs in ${days} days, ${tasks} tasks, pages of ${limit}, milliseconds as a client sees them`,
      [
        { title: 'list', of: (row) => row.question },
        { title: 'pages', of: (row) => row.pages },
        { title: 'items', of: (row) => row.items },
        ...percentileColumns<Row>('took', (row) => row.took),
      ],
      rows,
    )
    if (explain) await explainAll(database, { taskId: busy, until }, report)
  },
})

async function makeAll(
  { db, url }: BenchDatabase,
  { runs, days, tasks }: { runs: number; days: number; tasks: number },
  report: Report,
): Promise<{ taskIds: string[]; until: number }> {
  const startedAt = performance.now()
  report.step(`creating ${tasks} tasks`)
  await fill(url, { count: tasks, dueAt: (i) => Date.now() + DAY_MS + ((i * 7_919) % DAY_MS) })
  const taskIds = (await db.run(sql<{ id: string }>`select id from task`)).map(({ id }) => id)
  await makePastDays(db, days)
  const until = Date.now()
  const span = days * DAY_MS
  const tailFrom = until - span * TAIL_SHARE
  const steps = days * 2
  for (let step = 0; step < steps; step++) {
    const at = (share: number) => until - span + (tailFrom - (until - span)) * share
    report.step(`history: ${step} of ${steps} parts`)
    await makeHistory(db, {
      runs: Math.round((runs * (1 - TAIL_SHARE)) / steps),
      from: at(step / steps),
      until: at((step + 1) / steps),
      taskIds,
      busyEvery: BUSY_EVERY,
    })
  }
  await vacuum(db)
  await makeHistory(db, { runs: Math.round(runs * TAIL_SHARE), from: tailFrom, until, taskIds })
  const [size] = await db.run(sql<{ rows: number; bytes: number; parts: number }>`
    select (select count(*) from run) as rows, sum(pg_total_relation_size(inhrelid))::float8 as bytes, count(*)::integer as parts
    from pg_inherits where inhparent = 'run'::regclass`)
  const minutes = ((performance.now() - startedAt) / 60_000).toFixed(1)
  report.say(
    `${size?.rows} rows in ${size?.parts} partitions, ${Math.round((size?.bytes ?? 0) / 1024 ** 2)} MiB with indexes, made in ${minutes} min`,
  )
  return { taskIds, until }
}

/** Reads a list page by page and takes the time of each. */
async function walk(question: string, address: string, pages: number): Promise<Row> {
  const times: number[] = []
  let items = 0
  let cursor: string | null = null
  do {
    const startedAt = performance.now()
    const answer = await fetch(`${address}${cursor === null ? '' : `&cursor=${cursor}`}`)
    const body = (await answer.json()) as { items?: unknown[]; nextCursor?: string | null }
    times.push(performance.now() - startedAt)
    if (answer.status !== 200) throw new Error(`${address} was answered with ${answer.status}.`)
    items += body.items?.length ?? 0
    cursor = body.nextCursor ?? null
  } while (cursor !== null && times.length < pages)
  return { question, pages: times.length, items, took: percentilesOf(times) }
}

async function explainAll(
  { db }: BenchDatabase,
  { taskId, until }: { taskId: string; until: number },
  report: Report,
): Promise<void> {
  const projectId = DEFAULT_PROJECT_ID
  const before = { us: until * 1_000, id: NO_ID }
  const fromUs = before.us - 16_000_000
  const statements: [string, Statement<unknown>][] = [
    [
      'a stretch of 16 s',
      runsInWindow({
        ...{ projectId, state: null, fromUs, historyFromUs: 0, before, limit: 51, maxExamined: 10_000 },
      }),
    ],
    [
      'the latest that failed for good',
      runsEndedAs({ projectId, state: 'permanently_failed', fromUs: null, before, limit: 51 }),
    ],
    ['runs of a task', runsOfTask({ projectId, taskId, limit: 51 })],
    [
      'runs of a task, further on',
      runsOfTask({
        projectId,
        taskId,
        before: { scheduledFor: Date.now() - 3 * DAY_MS, id: uuidv7() },
        limit: 51,
      }),
    ],
    ['failed runs of a task', runsOfTask({ projectId, taskId, state: 'permanently_failed', limit: 51 })],
  ]
  // Bitmap scans are enabled, as on the connections that read lists.
  await db.run(sql`set enable_bitmapscan = on`)
  for (const [title, { text, values }] of statements) {
    const lines = await db.run<{ 'QUERY PLAN': string }>({
      text: `explain (analyze, buffers, costs off) ${text}`,
      values,
    })
    report.say(`\n${title}\n${condensed(lines.map((line) => line['QUERY PLAN'])).join('\n')}`)
  }
}

/** How tables are read, the partitions of one counted together. */
function condensed(plan: readonly string[]): string[] {
  const counts = new Map<string, number>()
  for (const line of plan) {
    if (!SCAN.test(line) || /never executed|Method|Sort Key/.test(line)) continue
    const isPartition = DAY.test(line)
    const name = isPartition ? line.replace(DAY, '').replace(/ run_\d+| attempt_\d+|\(actual.*/g, '') : line
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return [...counts].map(([line, count]) => (count > 1 ? `${line.trimEnd()} × ${count}` : line))
}
