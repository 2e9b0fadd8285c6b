/**
 * Tasks that are edited, paused, resumed, triggered and cancelled at random while nodes are killed and started again, and
 * the question that is asked of each of them afterwards: is everything that was owed accounted for? What is done follows
 * from a seed; when the processes get to it does not, so a seed repeats the story and not each millisecond of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import type { Answer } from '../support/request.ts'

export interface LifeOptions {
  readonly seed: number
  readonly databaseUrl: string
  readonly nodes: number
  readonly tasks: number
  /** Things done to tasks, one after another. */
  readonly acts: number
  /** Among them, evenly spread: nodes killed. */
  readonly kills: number
  readonly overlaps: readonly string[]
}

/** What came of it. */
export interface Life {
  readonly done: Readonly<Record<string, number>>
  readonly ledgers: readonly TaskLedger[]
}

/** The ledger of one task, from its making on. */
export interface TaskLedger {
  readonly taskId: string
  readonly expected: number
  readonly accounted: number
  readonly counts: Readonly<Record<string, number>>
  readonly problems: readonly unknown[]
}

const QUICK = ['--heartbeat-ms', '300', '--lease-ms', '2000', '--reaper-ms', '300']
const BETWEEN_ACTS_MS = 25

/** Numbers from a seed (mulberry32). */
function numbersFrom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

export async function liveAtRandom({
  seed,
  databaseUrl,
  nodes,
  tasks,
  acts,
  kills,
  overlaps,
}: LifeOptions): Promise<Life> {
  const random = numbersFrom(seed)
  const among = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  /** On a busy machine the database may not be reached in time; that is not what this is about. */
  const start = async (tries = 3): Promise<Belfry> => {
    const starting = startBelfry(['--database-url', databaseUrl, ...QUICK])
    return tries === 1 ? starting : starting.catch(() => start(tries - 1))
  }
  const living: Belfry[] = []
  for (let i = 0; i < nodes; i++) living.push(await start())
  const done: Record<string, number> = {}

  /** Asks any node that is alive, and another one when it has just died. */
  const ask = async (method: string, path: string, body?: unknown) => {
    for (let tries = 0; ; tries++) {
      try {
        const answer = await among(living).request(method, path, body)
        if (answer.status < 500) return answer
      } catch (error) {
        if (tries > 50) throw error
      }
      await delay(100)
    }
  }

  const interval = () => `${among([100, 150, 250, 400, 700, 1_000, 1_300])}ms`
  const schedule = () =>
    among([
      () => ({ type: 'every', interval: interval() }),
      () => ({ type: 'every', interval: interval(), anchor: '2026-01-01T00:00:00Z' }),
      () => ({
        type: 'cron',
        expression: among(['* * * * * *', '*/2 * * * * *', '1-59/3 * * * * *']),
        timezone: 'Europe/Berlin',
      }),
      () => ({ type: 'delay', interval: interval() }),
    ])()
  const body = () => ({
    action: { type: 'sleep', duration: `${among([0, 0, 5, 50, 600])}ms` },
    schedule: schedule(),
    overlap: among(overlaps),
    ...(random() < 0.15 ? { maxRuns: 5 + Math.floor(random() * 30) } : {}),
    ...(random() < 0.1 ? { endAt: new Date(Date.now() + 2_000 + random() * 20_000).toISOString() } : {}),
  })

  const ids: string[] = []
  const create = async () => {
    const answer = await ask('POST', '/v1/tasks', body())
    if (answer.status === 201) ids.push(answer.body.id)
    return answer
  }
  for (let i = 0; i < tasks; i++) await create()

  const deeds: Readonly<Record<string, () => Promise<{ status: number }>>> = {
    create,
    trigger: () => ask('POST', `/v1/tasks/${among(ids)}/trigger`),
    pause: () => ask('POST', `/v1/tasks/${among(ids)}/pause`),
    resume: () => ask('POST', `/v1/tasks/${among(ids)}/resume`),
    rename: () => ask('PATCH', `/v1/tasks/${among(ids)}`, { name: `n${Math.floor(random() * 1_000)}` }),
    reschedule: () => ask('PATCH', `/v1/tasks/${among(ids)}`, { schedule: schedule() }),
    bound: () =>
      ask('PATCH', `/v1/tasks/${among(ids)}`, {
        maxRuns: random() < 0.5 ? null : 1 + Math.floor(random() * 40),
      }),
    cancel: () =>
      random() < 0.3 ? ask('POST', `/v1/tasks/${among(ids)}/cancel`) : ask('GET', '/v1/tasks?limit=1'),
  }
  const names = [
    ...['create', 'cancel'],
    ...['trigger', 'trigger', 'pause', 'pause', 'resume', 'resume', 'resume'],
    ...['rename', 'reschedule', 'reschedule', 'reschedule', 'bound'],
  ]

  /** A node dies in the middle of it all, and another one comes. */
  const kill = async () => {
    const victim = among(living)
    victim.kill('SIGKILL')
    await victim.exited
    living.splice(living.indexOf(victim), 1, await start())
  }
  const killEvery = Math.floor(acts / (kills + 1))
  let killing: Promise<void> = Promise.resolve()
  for (let i = 1; i <= acts; i++) {
    if (kills > 0 && i % killEvery === 0 && i / killEvery <= kills) {
      await killing
      killing = kill()
      // Awaited before the next one and at the end.
      killing.catch(() => {})
      done['kill'] = (done['kill'] ?? 0) + 1
    }
    const name = among(names)
    const { status } = await (deeds[name] as () => Promise<{ status: number }>)()
    if (status < 300) done[name] = (done[name] ?? 0) + 1
    await delay(random() * BETWEEN_ACTS_MS)
  }
  await killing
  // All is over when somebody watches every shard again and nobody holds a run of the dead.
  await eventually(
    async () => {
      const { body: stats } = await ask('GET', '/v1/stats')
      return stats.shards.unwatched === 0 && stats.nodes.quiet === 0
    },
    { withinMs: 60_000, everyMs: 200 },
  )
  const ledgers: TaskLedger[] = []
  for (const taskId of ids) ledgers.push(await wholeLedger(ask, taskId))
  return { done, ledgers }
}

type Ask = (method: string, path: string) => Promise<Answer>

async function wholeLedger(ask: Ask, taskId: string): Promise<TaskLedger> {
  const { status, body } = await ask('GET', `/v1/tasks/${taskId}/ledger?from=2026-01-01T00:00:00Z&limit=200`)
  if (status !== 200) throw new Error(`the ledger of ${taskId} answered ${status}: ${JSON.stringify(body)}`)
  const { expected, accounted, counts, items, isInOrder } = body
  if (isInOrder) return { taskId, expected, accounted, counts, problems: [] }
  // With what it takes to understand it.
  const task = (await ask('GET', `/v1/tasks/${taskId}`)).body
  const runs = (await ask('GET', `/v1/tasks/${taskId}/runs?limit=50`)).body.items
  const problems = items.filter(({ state }: { state: string }) =>
    ['missing', 'doubled', 'unexpected'].includes(state),
  )
  return { taskId, expected, accounted, counts, problems: [...problems, { task, items, runs }] }
}
