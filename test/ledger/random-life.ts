/**
 * Tasks that are edited, paused, resumed, skipped, triggered, backfilled and cancelled at random, within blackouts, while nodes are killed
 * and started again, and through long outages; and the question that is asked of each of them afterwards: is everything that was
 * owed accounted for? What is done follows from a seed; when the processes get to it does not, so a seed repeats the story and
 * not each millisecond of it.
 */
import { setTimeout as delay } from 'node:timers/promises'
import type { TaskBody } from '../checker/evidence.ts'
import { ask as query } from '../checker/observe.ts'
import { dueInstants } from '../checker/oracle.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'
import type { Answer } from '../support/request.ts'
import { shiftBack } from './shift.ts'

export interface LifeOptions {
  readonly seed: number
  readonly databaseUrl: string
  readonly nodes: number
  readonly tasks: number
  /** Things done to tasks, one after another. */
  readonly acts: number
  /** Among them, evenly spread: nodes killed. */
  readonly kills: number
  /** And all nodes killed at once, to come back minutes later. */
  readonly outages: number
  readonly overlaps: readonly string[]
}

/** What came of it. */
export interface Life {
  readonly done: Readonly<Record<string, number>>
  readonly ledgers: readonly TaskLedger[]
  /** Occurrences that more than one row stands for, found by comparing rows with one another. */
  readonly doubled: readonly unknown[]
  /** Occurrences that an oracle knows of and no row stands for, of the tasks that nobody changed. */
  readonly unknown: readonly unknown[]
  /** How many the oracle has compared. */
  readonly compared: number
}

/** The ledger of one task, from its making on. */
export interface TaskLedger {
  readonly taskId: string
  readonly expected: number
  readonly accounted: number
  readonly counts: Readonly<Record<string, number>>
  readonly problems: readonly unknown[]
}

const QUICK = ['--heartbeat-ms', '500', '--lease-ms', '5000', '--reaper-ms', '300']
const BETWEEN_ACTS_MS = 25
/** Tasks that nobody changes; outages, deaths and blackouts they live through with the others. */
const LEFT_IN_PEACE = 0.2
const INTERVALS_MS = [100, 150, 250, 400, 700, 1_000, 1_300]
/** A multiple of all of them, and of what the cron expressions repeat after: nine minutes and six seconds. */
const OUTAGE_MS = 546_000
/** A stretch of the ledger that is asked for at once: it speaks of ten thousand occurrences at most. */
const STRETCH_MS = 600_000

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
  outages,
  overlaps,
}: LifeOptions): Promise<Life> {
  const random = numbersFrom(seed)
  const among = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const soon = (fromMs: number, toMs: number) =>
    new Date(Date.now() + fromMs + random() * (toMs - fromMs)).toISOString()
  /** On a busy machine the database may not be reached in time; that is not what this is about. */
  const start = async (tries = 3): Promise<Belfry> => {
    const starting = startBelfry(['--database-url', databaseUrl, ...QUICK])
    return tries === 1 ? starting : starting.catch(() => start(tries - 1))
  }
  let living: Belfry[] = await Promise.all(Array.from({ length: nodes }, () => start()))
  const done: Record<string, number> = {}
  const diary: {
    readonly at: string
    readonly act: string
    readonly taskId: string
    readonly came: string
  }[] = []

  /** Asks any node that is alive, and another one when it has just died. */
  const ask: Ask = async (method, path, body) => {
    for (let tries = 0; ; tries++) {
      try {
        const answer = await among(living).request(method, path, body)
        if (answer.status < 500) return answer
        if (tries > 50) {
          const said = living.flatMap(({ log }) => log.filter(({ level }) => Number(level) >= 50).slice(-2))
          throw new Error(
            `${method} ${path} answers ${answer.status}: ${JSON.stringify([answer.body, said])}`,
          )
        }
      } catch (error) {
        if (tries > 50) throw error
      }
      await delay(100)
    }
  }

  const interval = () => `${among(INTERVALS_MS)}ms`
  const onGrid = () =>
    among([
      () => ({ type: 'every', interval: interval() }),
      () => ({ type: 'every', interval: interval(), anchor: '2026-01-01T00:00:00Z' }),
      () => ({
        type: 'cron',
        expression: among(['* * * * * *', '*/2 * * * * *', '1-59/3 * * * * *']),
        timezone: 'Europe/Berlin',
      }),
    ])()
  const schedule = () =>
    random() < 0.25
      ? { type: 'delay', interval: interval() }
      : random() < 0.1
        ? [onGrid(), onGrid()]
        : onGrid()
  const misfire = () =>
    among([
      { policy: 'run_once' },
      { policy: 'run_all', cap: 20, rate: 1_000 },
      { policy: 'skip' },
      { policy: 'fail' },
      { policy: 'run_once', window: '1m' },
    ])
  const action = () => ({ type: 'sleep', duration: `${among([0, 0, 5, 50, 600])}ms` })
  const body = () => ({
    action: action(),
    schedule: schedule(),
    overlap: among(overlaps),
    misfire: misfire(),
    ...(random() < 0.15 ? { maxRuns: 5 + Math.floor(random() * 30) } : {}),
    ...(random() < 0.1 ? { endAt: soon(2_000, 22_000) } : {}),
    ...(random() < 0.15 ? { jitter: '80ms' } : {}),
  })

  const [ids, peaceful]: [string[], string[]] = [[], []]
  const create = async (wanted: Record<string, unknown> = body(), into = ids) => {
    const answer = await ask('POST', '/v1/tasks', wanted)
    if (answer.status === 201) into.push(answer.body.id)
    return answer
  }
  for (let i = 0; i < tasks; i++) {
    if (i < tasks * LEFT_IN_PEACE)
      await create(
        { action: action(), schedule: onGrid(), overlap: among(overlaps), misfire: misfire() },
        peaceful,
      )
    else await create()
  }

  const blackouts: string[] = []
  const blackOut = async () => {
    const window = { type: 'range', from: soon(-200, 800), to: soon(1_000, 2_500) }
    const answer = await ask('POST', '/v1/blackouts', {
      name: 'dark',
      window,
      effect: among(['skip', 'defer']),
    })
    if (answer.status === 201) blackouts.push(answer.body.id)
    return answer
  }
  const lighten = () => ask('DELETE', `/v1/blackouts/${blackouts.pop() ?? among(ids)}`)
  let subject = ''
  const of = (method: string, path: string, body?: unknown) => {
    subject = among(ids)
    return ask(method, `/v1/tasks/${subject}${path}`, body)
  }

  const deeds: Readonly<Record<string, () => Promise<{ status: number; body: unknown }>>> = {
    create: () => create(),
    trigger: () => of('POST', '/trigger'),
    pause: () => of('POST', '/pause'),
    pauseUntil: () => of('POST', '/pause', { until: soon(200, 3_000), reason: 'a while' }),
    resume: () => of('POST', '/resume'),
    skipNext: () => of('POST', '/skip-next', { count: 1 + Math.floor(random() * 5) }),
    unskip: () => of('DELETE', '/skip-next'),
    backfill: () =>
      of('POST', '/backfill', {
        ...{
          from: soon(-20_000, -3_000),
          to: soon(-2_500, -10),
          order: among(['oldest_first', 'newest_first']),
        },
        ...{ force: random() < 0.3, maxRuns: 20, overlap: among(['allow', 'queue_all']) },
      }),
    rename: () => of('PATCH', '', { name: `n${Math.floor(random() * 1_000)}` }),
    reschedule: () => of('PATCH', '', { schedule: schedule() }),
    reconsider: () => of('PATCH', '', { overlap: among(overlaps), misfire: misfire() }),
    bound: () => of('PATCH', '', { maxRuns: random() < 0.5 ? null : 1 + Math.floor(random() * 40) }),
    rollback: () => of('POST', '/rollback', { version: 1 }),
    blackOut,
    lighten,
    cancel: () => (random() < 0.3 ? of('POST', '/cancel') : ask('GET', '/v1/tasks?limit=1')),
  }
  const names = [
    ...['create', 'cancel', 'blackOut', 'lighten', 'rollback', 'reconsider'],
    ...['trigger', 'trigger', 'pause', 'pause', 'pauseUntil', 'pauseUntil', 'resume', 'resume', 'resume'],
    ...['skipNext', 'skipNext', 'unskip', 'backfill', 'backfill'],
    ...['rename', 'reschedule', 'reschedule', 'reschedule', 'bound'],
  ]

  const note = (act: string, taskId: string, came: string) =>
    diary.push({ at: new Date().toISOString(), act, taskId, came })
  const die = async (victim: Belfry) => {
    victim.kill('SIGKILL')
    await victim.exited
  }
  /** A node dies in the middle of it all, and another one comes. */
  const kill = async () => {
    const victim = among(living)
    await die(victim)
    living.splice(living.indexOf(victim), 1, await start())
  }
  /** All nodes die, and come back minutes later. */
  const outage = async () => {
    await Promise.all(living.map(die))
    await shiftBack(databaseUrl, OUTAGE_MS)
    for (const [i, entry] of diary.entries())
      diary[i] = { ...entry, at: new Date(Date.parse(entry.at) - OUTAGE_MS).toISOString() }
    living = await Promise.all(Array.from({ length: nodes }, () => start()))
  }
  const isTimeFor = (i: number, times: number) => {
    const every = Math.floor(acts / (times + 1))
    return times > 0 && i % every === 0 && i / every <= times
  }
  let killing: Promise<void> = Promise.resolve()
  for (let i = 1; i <= acts; i++) {
    if (isTimeFor(i, outages)) {
      await killing
      note('outage', '', '')
      await outage()
      done['outage'] = (done['outage'] ?? 0) + 1
    } else if (isTimeFor(i, kills)) {
      await killing
      note('kill', '', '')
      killing = kill()
      // Awaited before the next one and at the end.
      killing.catch(() => {})
      done['kill'] = (done['kill'] ?? 0) + 1
    }
    const name = among(names)
    subject = ''
    const { status, body } = await (deeds[name] as () => Promise<Answer>)()
    note(name, subject, status < 300 ? String(status) : `${status} ${(body as { code?: string })?.code}`)
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
  const from = Date.now() - (outages + 1) * OUTAGE_MS - STRETCH_MS
  const ledgers: TaskLedger[] = []
  for (const taskId of [...peaceful, ...ids]) {
    const ledger = await wholeLedger(ask, taskId, from)
    const lived = diary.filter((entry) => entry.taskId === taskId || entry.taskId === '')
    ledgers.push(
      ledger.problems.length > 0 ? { ...ledger, problems: [...ledger.problems, { lived }] } : ledger,
    )
  }
  const compared = await compareWithOracle(ask, databaseUrl, peaceful)
  return { done, ledgers, doubled: await rowsThatMeet(databaseUrl), ...compared }
}

type Ask = (method: string, path: string, body?: unknown) => Promise<Answer>

async function wholeLedger(ask: Ask, taskId: string, begin: number): Promise<TaskLedger> {
  const whole = {
    taskId,
    expected: 0,
    accounted: 0,
    counts: {} as Record<string, number>,
    problems: [] as unknown[],
  }
  const end = Date.now()
  for (let from = begin; from < end; from += STRETCH_MS) {
    const to = Math.min(end, from + STRETCH_MS - 1)
    const range = `from=${new Date(from).toISOString()}&to=${new Date(to).toISOString()}`
    const { status, body } = await ask('GET', `/v1/tasks/${taskId}/ledger?${range}&show=problems&limit=50`)
    if (status !== 200) throw new Error(`the ledger of ${taskId} answered ${status}: ${JSON.stringify(body)}`)
    whole.expected += body.expected
    whole.accounted += body.accounted
    for (const [state, count] of Object.entries(body.counts as Record<string, number>))
      whole.counts[state] = (whole.counts[state] ?? 0) + count
    if (!body.isInOrder) whole.problems.push(...body.items)
  }
  if (whole.problems.length > 0) {
    // With what it takes to understand it.
    const task = (await ask('GET', `/v1/tasks/${taskId}`)).body
    const versions = (await ask('GET', `/v1/tasks/${taskId}/versions?limit=50`)).body.items
    const runs = (await ask('GET', `/v1/tasks/${taskId}/runs?limit=50`)).body.items
    whole.problems.push({ task, versions, runs })
  }
  return whole
}

/** Rows by time of one task that stand for the same instant, found without any idea of schedules. */
const rowsThatMeet = (url: string) =>
  query(
    url,
    `select * from (
       select task_id, run_id, kind, state, reason, scheduled_for, covers_until,
              lag(run_id) over line as before, max(coalesce(covers_until, scheduled_for)) over line as known_until
       from run where kind in ('occurrence', 'catchup')
       window line as (partition by task_id order by scheduled_for, run_id rows between unbounded preceding and 1 preceding)
     ) seen where scheduled_for <= known_until limit 20`,
  )

/** What comes due while it is looked at may have its row or not. */
const SETTLED_MS = 15_000

/** For tasks that nobody changed an oracle knows every instant; each must have a row. */
async function compareWithOracle(
  ask: Ask,
  url: string,
  taskIds: readonly string[],
): Promise<Pick<Life, 'unknown' | 'compared'>> {
  const unknown: unknown[] = []
  let compared = 0
  for (const taskId of taskIds) {
    const { body: task } = await ask('GET', `/v1/tasks/${taskId}`)
    const { schedule, createdAt } = task as { schedule: TaskBody['schedule']; createdAt: string }
    const until = Date.now() - SETTLED_MS
    const created = Date.parse(createdAt)
    const owed = dueInstants(
      { body: { action: { type: 'sleep' }, ...(schedule ? { schedule } : {}) }, createdAt: created },
      until,
    )
    const rows = await query<{ first: number; last: number }>(
      url,
      `select (extract(epoch from scheduled_for) * 1000)::float8 as first,
              (extract(epoch from coalesce(covers_until, scheduled_for)) * 1000)::float8 as last
       from (select task_id, scheduled_for, covers_until, kind from run
             union all select task_id, scheduled_for, null, kind from agenda) seen
       where task_id = $1 and kind in ('occurrence', 'catchup') order by 1`,
      [taskId],
    )
    const singles = new Set(rows.filter(({ first, last }) => first === last).map(({ first }) => first))
    const ranges = rows.filter(({ first, last }) => first < last)
    const isKnown = (at: number) =>
      singles.has(at) || ranges.some(({ first, last }) => first <= at && at <= last)
    const missing = owed.filter((at) => !isKnown(at))
    compared += owed.length
    if (missing.length > 0)
      unknown.push({
        taskId,
        missing: missing.slice(0, 5).map((at) => new Date(at).toISOString()),
        of: owed.length,
      })
  }
  return { unknown, compared }
}
