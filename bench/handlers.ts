import { type ChildProcess, fork } from 'node:child_process'
import { join } from 'node:path'
import { end, startNodes } from './support/belfry.ts'
import { onCleanup } from './support/cleanup.ts'
import { COST } from './support/columns.ts'
import { benchmark, whole } from './support/command.ts'
import { DRAIN_TIMEOUT_MS } from './support/contender.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { checkpoint, createBelfryDatabase, type Server, startPostgres, vacuum } from './support/postgres.ts'
import { ROOT } from './support/root.ts'
import { assertAllDone, createTasks, makeDue, readHistory, untilDone, wake } from './support/tasks.ts'

const SOON_MS = 200

interface Drain {
  readonly runs: number
  readonly workers: number
  readonly concurrency: number
}

await benchmark({
  name: 'handlers',
  question: "How many runs of a handler do workers of the users' own get through, and what does one cost?",
  options: {
    runs: whole(20_000, 'Runs due in one instant'),
    workers: whole(1, 'Processes that offer the handler'),
    concurrency: whole(100, 'Runs that each of them performs at once'),
    rounds: whole(3, 'How often'),
  },
  run: async ({ rounds, ...drain }, report) => {
    const server = await startPostgres()
    const rows: CostPerRun[] = []
    for (let round = 1; round <= rounds; round++) {
      report.step(`round ${round} of ${rounds}`)
      rows.push(await take(drain, server))
    }
    const { runs, workers, concurrency } = drain
    report.table<CostPerRun>(
      'rows',
      `${runs} runs of a handler that does nothing, ${workers} × ${concurrency} at once, one node; each was recorded once`,
      [{ title: 'all done s', of: (row) => row.seconds.toFixed(2) }, ...COST],
      rows,
    )
  },
})

async function take({ runs, workers: count, concurrency }: Drain, server: Server): Promise<CostPerRun> {
  const database = await createBelfryDatabase(server, 'bench_handlers')
  const { url, db } = database
  await checkpoint(db)
  const [node] = await startNodes(1, url)
  if (!node) throw new Error('there is no node')
  await createTasks(node.url, runs, { type: 'handler', name: 'nothing' })
  await vacuum(db)
  const workers = await Promise.all(Array.from({ length: count }, () => startWorker(node.url, concurrency)))
  const subject = await database.subject([node.pid, ...workers.map(({ pid }) => pid)])

  const dueAt = Date.now() + SOON_MS
  await makeDue(db, dueAt)
  const finish = await measure(subject)
  await wake(db, dueAt)
  await untilDone(db, { dueBefore: dueAt + 1, timeoutMs: DRAIN_TIMEOUT_MS })
  const cost = await finish()

  assertAllDone(await readHistory(db), runs)
  for (const worker of workers) await worker.stop()
  await node.stop()
  await database.drop()
  return perRun(runs, cost)
}

async function startWorker(server: string, concurrency: number) {
  const program = join(ROOT, 'bench', 'support', 'handler-worker.mjs')
  const child: ChildProcess = fork(program, [server, String(concurrency)], {
    execArgv: process.execArgv.filter((arg) => arg.startsWith('--cpu-prof')),
  })
  const stop = onCleanup(() => end(child))
  await new Promise<void>((ready, failed) => {
    child.once('message', () => ready())
    child.once('exit', (code) => failed(new Error(`the worker ended with ${code}`)))
  })
  child.removeAllListeners('exit')
  return { pid: child.pid ?? 0, stop }
}
