import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import type { ExecAction } from '../src/core/action/action.ts'
import { startNodes } from './support/belfry.ts'
import { COST, percentileColumns } from './support/columns.ts'
import { benchmark, someOf, whole } from './support/command.ts'
import { DRAIN_TIMEOUT_MS } from './support/contender.ts'
import { ownCpuUs, treeCpuUs } from './support/cpu.ts'
import { type CostPerRun, measure, perRun } from './support/measure.ts'
import { median } from './support/percentiles.ts'
import { checkpoint, createBelfryDatabase, type Server, startPostgres, vacuum } from './support/postgres.ts'
import { openWays, type ProgramCost, TRUE, takeCosts, type Way } from './support/program-costs.ts'
import type { Report } from './support/report.ts'
import { assertAllDone, createTasks, makeDue, readHistory, untilDone, wake } from './support/tasks.ts'

const KINDS = ['command', 'file'] as const
type Kind = (typeof KINDS)[number]

interface Attempts extends CostPerRun {
  readonly kind: Kind
  /** What the programs cost with all that surrounds them: shells, bubblewrap, the programs themselves. */
  readonly programUsPerRun: number
}

interface Overhead {
  readonly way: Way
  readonly cpuUs: number
  readonly wallMs: number
  readonly timesBare: number
}

const SOON_MS = 200

await benchmark({
  name: 'programs',
  question: 'What does the sandbox add to a program that does nothing, and how many can a node run?',
  options: {
    programs: whole(100, 'Programs of each kind in a round, one after the other'),
    runs: whole(500, 'Runs of a node, due in one instant'),
    concurrency: whole(0, 'Programs that the node runs at once; 0 for one per processor'),
    rounds: whole(5, 'How often each has its turn'),
    kind: someOf(KINDS, 'What the node runs: a command of the machine, an uploaded file'),
  },
  run: async ({ programs, rounds, kind: kinds, ...drain }, report) => {
    report.say(
      `Load of the machine at the start: ${loadavg()
        .map((one) => one.toFixed(1))
        .join(' ')}`,
    )
    await overhead(programs, rounds, report)
    if (drain.runs === 0) return
    const server = await startPostgres()
    const rows: Attempts[] = []
    for (let round = 1; round <= rounds; round++)
      for (const kind of kinds) {
        report.step(`round ${round} of ${rounds}: ${kind}`)
        rows.push(await take(server, kind, drain))
      }
    report.table<Attempts>(
      'attempts',
      `${drain.runs} runs of ${TRUE}, one node; each was recorded once`,
      [
        { title: 'kind', of: (row) => row.kind },
        ...COST,
        { title: 'programs', of: (row) => row.programUsPerRun },
      ],
      rows,
    )
  },
})

async function overhead(programs: number, rounds: number, report: Report): Promise<void> {
  const ways = await openWays()
  const rows: ProgramCost[] = []
  for (const [way, run] of ways) await takeCosts(way, run, 1)
  for (let round = 1; round <= rounds; round++) {
    report.step(`round ${round} of ${rounds}: one after the other`)
    for (const [way, run] of ways) rows.push(await takeCosts(way, run, programs))
  }
  report.table<ProgramCost>(
    'rounds',
    `Every round: ${programs} times ${TRUE}, one after the other; wall time in milliseconds`,
    [
      { title: 'way', of: (row) => row.way },
      { title: 'CPU µs', of: (row) => row.cpuUs },
      ...percentileColumns<ProgramCost>('wall', (row) => row.wall),
    ],
    rows,
  )
  report.table<Overhead>(
    'overhead',
    'Median of the rounds',
    [
      { title: 'way', of: (row) => row.way },
      { title: 'CPU µs', of: (row) => row.cpuUs },
      { title: 'wall ms', of: (row) => row.wallMs.toFixed(2) },
      { title: 'CPU', of: (row) => `× ${row.timesBare.toFixed(1)}` },
    ],
    summarise([...ways.keys()], rows),
  )
}

function summarise(ways: readonly Way[], rows: readonly ProgramCost[]): Overhead[] {
  const of = (way: Way, pick: (row: ProgramCost) => number) =>
    median(rows.filter((row) => row.way === way).map(pick))
  const bareUs = of('bare', ({ cpuUs }) => cpuUs)
  return ways.map((way) => {
    const cpuUs = of(way, (row) => row.cpuUs)
    return { way, cpuUs, wallMs: of(way, ({ wall }) => wall.p50 ?? 0), timesBare: cpuUs / bareUs }
  })
}

async function take(
  server: Server,
  kind: Kind,
  { runs, concurrency }: { readonly runs: number; readonly concurrency: number },
): Promise<Attempts> {
  const database = await createBelfryDatabase(server, 'bench_programs')
  const { url, db } = database
  await checkpoint(db)
  const settings = [
    ...['--exec', 'on', '--exec-commands', TRUE, '--exec-concurrency', String(concurrency)],
    // Signs the address of the upload.
    ...['--secrets-key', randomBytes(32).toString('base64')],
  ]
  const [node] = await startNodes(1, url, settings)
  if (!node) throw new Error('there is no node')
  await createTasks(node.url, runs, await actionOf(kind, node.url))
  await vacuum(db)
  const subject = await database.subject([node.pid])

  const dueAt = Date.now() + SOON_MS
  await makeDue(db, dueAt)
  const finish = await measure(subject)
  const before = programsCpuUs(node.pid)
  await wake(db, dueAt)
  await untilDone(db, { dueBefore: dueAt + 1, timeoutMs: DRAIN_TIMEOUT_MS })
  const programsUs = programsCpuUs(node.pid) - before
  const cost = await finish()

  assertAllDone(await readHistory(db), runs)
  await node.stop()
  await database.drop()
  return { kind, ...perRun(runs, cost), programUsPerRun: programsUs / runs }
}

function programsCpuUs(pid: number): number {
  return treeCpuUs(pid) - ownCpuUs(pid)
}

async function actionOf(kind: Kind, url: string): Promise<ExecAction> {
  if (kind === 'command') return { type: 'exec', command: TRUE }
  const created = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'true' }),
  })
  if (created.status !== 201) throw new Error(`the file was refused: ${await created.text()}`)
  const { id, uploadUrl } = (await created.json()) as { readonly id: string; readonly uploadUrl: string }
  const uploaded = await fetch(uploadUrl, { method: 'PUT', body: await readFile(TRUE) })
  if (uploaded.status !== 200) throw new Error(`the upload was refused: ${await uploaded.text()}`)
  return { type: 'exec', file: id }
}
