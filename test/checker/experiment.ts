/**
 * One experiment: two nodes on a separate database, a sink, work of every kind, and a nemesis that takes shards from one node
 * and then declares that node dead while it is alive. A bug is planted in both nodes.
 */
import { makeDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import { aWorker, type GivenRun, type HandWorker } from '../support/remote-worker.ts'
import type { Bug } from './bugs.ts'
import { type CheckResult, check } from './check.ts'
import { Client } from './client.ts'
import type { Evidence, Receipt, Tables } from './evidence.ts'
import { Nemesis } from './nemesis.ts'
import { ask, observe, recordChanges } from './observe.ts'
import { type Sink, startSinkProcess } from './sink.ts'
import {
  CANCELLED_RUN,
  CANCELLED_TASK,
  ENDLESS,
  HELD,
  NARROW,
  REPLACING,
  seededRandom,
  TICKS,
  TRIGGERED,
  workload,
} from './workload.ts'

const PLANT = new URL('./plant.mjs', import.meta.url).href
/** A node that is declared dead learns of it at its next heartbeat, which is far away. */
const FLAGS = [
  ...['--heartbeat-ms', '60000', '--lease-ms', '180000', '--reaper-ms', '100'],
  ...['--concurrency', '60', '--log-level', 'warn'],
]
/** Tasks that are created by a request each, and once more with the same key. */
const ONE_BY_ONE = 5
const LEAD_MS = 400
/** On a busy machine, where creating the tasks takes longer than that. */
export const LONG_LEAD_MS = 5_000
const LENGTH_MS = 2_000
/** How late runs may be if the bug is not about lateness: the machine may be busy with other tests. */
const LATE_MS = 60_000
/** Nothing is in progress any more if nothing has changed for this long. */
const STILL_MS = 5_000
/** What a busy node has not seen to be due it finds when it looks through everything, every 30 s. */
const UNSEEN_MS = 35_000
/** How long to wait for something that a bug may prevent. */
const SOON_MS = 3_000
/** How long a run may go on after it was told to stop, and how long the experiment watches for that. */
const STOP_MS = 5_000
const REPLACED_MS = 9_000
/** What goes on for longer than this is assumed not to end. */
const LONGEST_MS = 60_000

export interface Result {
  readonly evidence: Evidence
  readonly checked: CheckResult
  /** Writes of nodes that no longer held what they wrote about, and that were refused. */
  readonly refusedWrites: number
  /** Which edits of the bug have found a statement to change. */
  readonly foundStatements: readonly number[]
}

/** What to try: a bug, or the same without a bug. */
export type Experimental = Pick<Bug, 'name' | 'edits' | 'isCalm' | 'isRemote' | 'lateMs' | 'watchMs'>

export async function experiment({
  bug,
  seed,
  leadMs = LEAD_MS,
}: {
  bug: Experimental | null
  seed: number
  /** How long before the first is due tasks are created. */
  leadMs?: number
}): Promise<Result> {
  const done: (() => Promise<unknown>)[] = []
  try {
    const database = await makeDatabase()
    done.push(database.drop)
    await recordChanges(database.url)
    const sink = await startSinkProcess()
    done.push(sink.stop)
    const env = bug ? { PLANTED_BUG: JSON.stringify({ name: bug.name, edits: bug.edits }) } : {}
    const options = { env, ...(bug ? { nodeArgs: ['--import', PLANT] } : {}) }
    const start = () => startBelfry(['--database-url', database.url, ...FLAGS], options)
    const nodes = await Promise.all(bug?.isRemote ? [start()] : [start(), start()])
    done.push(() => Promise.all(nodes.map(end)))
    if (bug?.isRemote) return await operateRemotely({ url: database.url, nodes })
    return await operate({
      url: database.url,
      sink,
      nodes,
      seed,
      leadMs,
      isCalm: bug?.isCalm ?? false,
      lateMs: bug?.lateMs ?? LATE_MS,
      watchMs: bug?.watchMs ?? LONGEST_MS,
    })
  } finally {
    for (const undo of done.reverse()) await undo()
  }
}

interface Stage {
  readonly url: string
  readonly sink: Sink
  readonly nodes: readonly Belfry[]
  readonly seed: number
  readonly leadMs: number
  readonly isCalm: boolean
  readonly lateMs: number
  readonly watchMs: number
}

async function operate({ url, sink, nodes, seed, leadMs, isCalm, lateMs, watchMs }: Stage): Promise<Result> {
  const from = Date.now() + leadMs
  const wanted = workload({ sink, random: seededRandom(seed), from, lengthMs: LENGTH_MS })
  const client = new Client(nodes[0]?.url ?? '')
  await client.limitQueue(NARROW.queue, NARROW.limit)
  await client.createTogether(wanted.slice(ONE_BY_ONE))
  await client.create(wanted.slice(0, ONE_BY_ONE))
  for (const wish of wanted.slice(0, ONE_BY_ONE)) await client.repeat(wish)
  await client.change('trigger', client.idOf(`${TRIGGERED}/0`))
  const held = client.idsOf(HELD)
  await soon(() => held.every((taskId) => sink.deliveries.some((delivery) => delivery.taskId === taskId)))

  await client.change('cancel_task', client.idOf(`${CANCELLED_TASK}/0`))
  const nemesis = new Nemesis(url)
  if (!isCalm) await disturb({ url, sink, nodes, client, nemesis })
  else sink.release(HELD, 1)
  await cancelRun(url, client, sink)
  // The last run has replaced all runs before it; if replacing had no effect, the sink now answers those runs after all.
  const replacing = client.idsOf(REPLACING)
  const hasBegun = (task: string) =>
    sink.deliveries.some(({ taskId, scheduledFor }) => taskId === task && scheduledFor >= from + LENGTH_MS)
  await soon(() => replacing.every(hasBegun), REPLACED_MS)
  await Promise.all(replacing.map((taskId) => client.change('cancel_task', taskId)))
  for (const count of [1, 2]) sink.release(REPLACING, count)
  for (const prefix of ENDLESS)
    await Promise.all(client.idsOf(prefix).map((taskId) => client.change('cancel_task', taskId)))
  sink.release(HELD, 2)

  const tables = await untilStill(url, watchMs)
  const evidence: Evidence = {
    requests: client.requests,
    deliveries: sink.deliveries,
    faults: nemesis.faults,
    tables,
    bounds: { lateMs, idleMs: STILL_MS - 1_000, stopMs: STOP_MS, unseenMs: UNSEEN_MS - 1_000 },
  }
  return {
    evidence,
    checked: check(evidence, ['retries', 'skips', 'reclaims', 'takeovers', 'repetitions']),
    refusedWrites: refusalsIn(nodes.flatMap(({ log }) => log)),
    foundStatements: foundIn(nodes),
  }
}

const HANDLED = 6
const WORKER_GONE = 410

/**
 * Runs the experiment for remote workers, one of which is declared dead while it has runs. It reports the end of some runs
 * while no worker has them, of some while another worker has them, and of the rest after the other worker has ended them.
 */
async function operateRemotely({ url, nodes }: Pick<Stage, 'url' | 'nodes'>): Promise<Result> {
  const client = new Client(nodes[0]?.url ?? '')
  const receipts: Receipt[] = []
  const complete = async (worker: HandWorker, runs: readonly GivenRun[]) => {
    const ended = runs.map(({ runId, fence }) => ({ runId, fence, outcome: 'completed' }))
    const { status, body } = await worker.say('complete', { runs: ended })
    if (status !== 200 && status !== WORKER_GONE)
      throw new Error(`ends were answered with ${status}: ${JSON.stringify(body)}`)
    // A worker that was declared dead is told so, and by that that none of its ends counts.
    const told = status === WORKER_GONE ? ended.map((run) => ({ ...run, recorded: false })) : body.runs
    for (const { runId, fence, recorded } of told)
      receipts.push({ at: Date.now(), runId, fence, workerId: worker.id, isRecorded: recorded })
  }
  const claimAll = async (worker: HandWorker) => {
    const runs: GivenRun[] = []
    await eventually(
      async () => {
        runs.push(...(await worker.claim(HANDLED, { waitMs: 500 })))
        return runs.length >= HANDLED
      },
      { withinMs: SOON_MS },
    ).catch(() => {})
    return runs.sort((a, b) => a.runId.localeCompare(b.runId))
  }
  await client.createTogether(
    Array.from({ length: HANDLED }, (_, i) => ({
      key: `handled/${i}`,
      body: { action: { type: 'handler', name: 'h' } },
    })),
  )
  const doomed = await aWorker(client.url, { handlers: ['h'] })
  const lost = await claimAll(doomed)
  const nemesis = new Nemesis(url)
  await nemesis.start()
  await nemesis.declareDead(doomed.id, 0, Promise.resolve())
  await eventually(
    async () => (await ask(url, "select from agenda where state = 'pending'")).length === HANDLED,
    { withinMs: LONGEST_MS },
  )
  const third = HANDLED / 3
  await complete(doomed, lost.slice(0, third))
  const successor = await aWorker(client.url, { handlers: ['h'] })
  const given = await claimAll(successor)
  await complete(doomed, lost.slice(third, 2 * third))
  await complete(successor, given)
  await complete(doomed, lost.slice(2 * third))
  await complete(successor, given)
  await nemesis.stop()

  const tables = await untilStill(url, SOON_MS)
  const bounds = { lateMs: LATE_MS, idleMs: STILL_MS - 1_000, unseenMs: UNSEEN_MS - 1_000 }
  const evidence: Evidence = {
    ...{ requests: client.requests, deliveries: [], faults: nemesis.faults, receipts, tables, bounds },
  }
  return {
    evidence,
    checked: check(evidence, ['reclaims', 'refusedReports']),
    refusedWrites: receipts.filter(({ isRecorded }) => !isRecorded).length,
    foundStatements: foundIn(nodes),
  }
}

/** Which edits have found a statement, as the nodes say. */
const foundIn = (nodes: readonly Belfry[]) =>
  [
    ...new Set(
      nodes
        .flatMap(({ log }) => log)
        .filter(({ msg }) => msg === 'planted')
        .map(({ edit }) => Number(edit)),
    ),
  ].sort()

/** Takes shards from one of the nodes and then declares it dead, without the node's knowledge. */
async function disturb({
  url,
  sink,
  nodes,
  client,
  nemesis,
}: Omit<Stage, 'seed' | 'leadMs' | 'isCalm' | 'lateMs' | 'watchMs'> & { client: Client; nemesis: Nemesis }) {
  const victim = await whoHoldsMost(url, nodes, client.idsOf(HELD))
  client.url = nodes.find((node) => node !== victim.node)?.url ?? ''
  await nemesis.start()
  await nemesis.takeShards(victim.id, victim.node.pid, await shardsOf(url, victim.id, client.idsOf(TICKS)))
  await nemesis.declareDead(victim.id, victim.node.pid, victim.node.exited)
  // By then the survivor has the runs that the victim held, and only now does the victim learn how they ended.
  await soon(() => victim.held.every((runId) => timesDelivered(sink, runId) >= 2))
  sink.release(HELD, 1)
  await soon(() => refusalsIn(victim.node.log) >= victim.held.length)
  await end(victim.node)
  await nemesis.stop()
}

/** Returns how many outcomes the nodes could not record because they no longer leased the runs. */
const refusalsIn = (log: Belfry['log']) =>
  log
    .filter(({ msg }) => String(msg).includes('no longer leases'))
    .reduce((sum, { count }) => sum + Number(count), 0)

const timesDelivered = (sink: Sink, runId: string) =>
  sink.deliveries.filter(({ messageId }) => messageId === runId).length

/** Waits for something that a bug may prevent. */
const soon = (isSo: () => boolean, withinMs = SOON_MS) =>
  eventually(async () => isSo(), { withinMs, everyMs: 5 }).catch(() => {})

async function whoHoldsMost(
  url: string,
  nodes: readonly Belfry[],
  taskIds: readonly string[],
): Promise<{ node: Belfry; id: string; held: string[] }> {
  const holders = await ask<{ id: string; process: number; held: string[] }>(
    url,
    `select n.id, split_part(n.name, '/', 2)::integer as process, array_agg(a.run_id) filter (where a.run_id is not null) as held
     from node n left join agenda a on a.worker_id = n.id and a.state = 'running' and a.task_id = any($1)
     group by n.id order by count(a.run_id) desc`,
    [taskIds],
  )
  const [most] = holders
  const node = nodes.find(({ pid }) => pid === most?.process)
  if (!most || !node) throw new Error(`no node is process ${most?.process}`)
  return { node, id: most.id, held: most.held ?? [] }
}

/** Shards of a node in which these tasks are due. */
async function shardsOf(url: string, nodeId: string, taskIds: readonly string[]): Promise<number[]> {
  const rows = await ask<{ id: number }>(
    url,
    'select distinct s.id from shard s join agenda a on a.shard = s.id where s.owner = $1 and a.task_id = any($2)',
    [nodeId, taskIds],
  )
  return rows.map(({ id }) => id)
}

/** Cancels a run that is in a worker's hands; when that has had no effect, the sink answers it after all. */
async function cancelRun(url: string, client: Client, sink: Sink): Promise<void> {
  const taskId = client.idOf(`${CANCELLED_RUN}/0`)
  const [run] = await ask<{ id: string }>(
    url,
    `select run_id as id from agenda where task_id = $1 and state = 'running'`,
    [taskId],
  )
  if (!run) return
  await client.cancelRun(taskId, run.id)
  await soon(() => sink.deliveries.some(({ messageId, goneAt }) => messageId === run.id && goneAt !== null))
  for (const count of [1, 2]) sink.release(CANCELLED_RUN, count)
}

/** Waits until everything has ended, or until it is clear that something never will. */
async function untilStill(url: string, withinMs: number): Promise<Tables> {
  let last = { text: '', at: 0 }
  await eventually(
    async () => {
      const rows = await ask<{ state: string }>(
        url,
        'select run_id, state, fence, (select count(*) from run) from agenda order by run_id',
      )
      const text = JSON.stringify(rows)
      if (text !== last.text) last = { text, at: performance.now() }
      const isUnseen = rows.some(({ state }) => state === 'scheduled' || state === 'retrying')
      return rows.length === 0 || performance.now() - last.at > (isUnseen ? UNSEEN_MS : STILL_MS)
    },
    { withinMs, everyMs: 100 },
  ).catch(() => {})
  return observe(url)
}

async function end(node: Belfry): Promise<void> {
  node.kill('SIGKILL')
  await node.exited
}
