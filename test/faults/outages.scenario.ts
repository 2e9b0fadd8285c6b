/**
 * Outages, replayed: a node ends, and what it would have fired is moved into the past, together with the instant up to which
 * its shards were watched; then another node starts. For each misfire policy three accounts are compared: what the
 * policy promises, worked out by an oracle; what a receiver saw; and what the ledger of the task says.
 */
import { expect, test } from 'vitest'
import { type Fate, fatesOf, type MisfirePolicy, type Outage as Stretch } from '../checker/misfire-oracle.ts'
import { ask, recordChanges } from '../checker/observe.ts'
import { dueInstants } from '../checker/oracle.ts'
import { type Sink, startSink } from '../checker/sink.ts'
import { within } from '../support/cadence.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { type Belfry, startBelfry } from '../support/process.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
/** Nothing is due while the node is there that dies. */
const LATER_MS = 60 * MINUTE
const SETTLED_WITHIN_MS = within(60_000)
/** Longer ago than the shortest window, so that it is clear what that one leaves out. */
const JUST_MISSED_MS = 2 * SECOND

/** A claimed run begins this soon on a machine that may be busy with other tests: by so much starts can be closer than claims. */
const CLAIMED_WITHIN_MS = 250

const NOBODY = '00000000-0000-0000-0000-000000000000'

const iso = (ms: number) => new Date(ms).toISOString()

interface Outage {
  readonly intervalMs: number
  readonly lastsMs: number
  /** How the node before it ends. */
  readonly signal: 'SIGKILL' | 'SIGTERM'
  readonly tasks: Readonly<Record<string, { readonly misfire?: MisfirePolicy; readonly overlap?: string }>>
  /** How many are due after it; without a figure they go on for ever. */
  readonly more?: number
  readonly flags?: readonly string[]
}

interface AfterOutage {
  readonly url: string
  readonly sink: Sink
  readonly node: Belfry
  readonly from: number
  readonly ids: Readonly<Record<string, string>>
  /** When the node was started that found out what was missed. */
  readonly startedAt: number
  /** In which nobody watched the shard of a task, as the observer saw it taken. */
  stretchOf(id: string): Promise<Stretch>
}

/** Lets tasks on a grid miss all that was due since `lastsMs` ago. */
async function afterOutage(outage: Outage): Promise<AfterOutage> {
  const { intervalMs, lastsMs, signal, tasks, more, flags = [] } = outage
  const { url } = await createTestDatabase()
  await recordChanges(url)
  const sink = await startSink()
  const before = await startBelfry(['--database-url', url])
  const later = iso(Date.now() + LATER_MS)
  const ids: Record<string, string> = {}
  for (const [name, policies] of Object.entries(tasks)) {
    const { body } = await before.request('POST', '/v1/tasks', {
      action: { type: 'webhook', url: sink.url(name) },
      schedule: { type: 'every', interval: `${intervalMs}ms` },
      startAt: later,
      ...policies,
    })
    ids[name] = body.id
  }
  before.kill(signal)
  await before.exited

  // The last was missed a moment ago, so that what was missed is not met by what is on time.
  const from = Date.now() - (lastsMs - intervalMs) - JUST_MISSED_MS
  const [at, beforeThat] = [iso(from), iso(from - SECOND)]
  await ask(
    url,
    `update task set created_at = $1::timestamptz, updated_at = $1::timestamptz,
       definition = jsonb_set(jsonb_set(definition::jsonb, '{startAt}', to_jsonb($2::text)), '{schedule,anchor}', to_jsonb($2::text))::json`,
    [at, at],
  )
  await ask(url, 'update agenda set wake_at = $1, scheduled_for = $1', [at])
  // By a hand or a bug: nobody can say when this one is due next.
  await ask(
    url,
    `update task set definition = jsonb_set(definition::jsonb, '{startAt}', '"nonsense"')::json where id = $1`,
    [ids['broken'] ?? NOBODY],
  )
  if (more !== undefined)
    await ask(
      url,
      `update task set definition = jsonb_set(definition::jsonb, '{endAt}', to_jsonb($1::text))::json`,
      [iso(from + lastsMs + (more + 0.5) * intervalMs)],
    )
  for (const table of ['shard', 'watch'])
    await ask(url, `update ${table} set watched_until = $1`, [beforeThat])
  const startedAt = Date.now()
  const node = await startBelfry(['--database-url', url, ...flags])
  const stretchOf = async (id: string) => ({ from: from - SECOND, to: await takenAt(url, id) })
  return { url, sink, node, from, ids, startedAt, stretchOf }
}

/** When the shard of a task was taken last. */
async function takenAt(url: string, taskId: string): Promise<number> {
  const [taken] = await ask<{ at: number }>(
    url,
    `select (extract(epoch from max(o.at)) * 1000)::float8 as at from observed.owner o
     where o.owner is not null and o.shard = (select shard from observed.change where task_id = $1 limit 1)`,
    [taskId],
  )
  return taken?.at ?? Number.NaN
}

interface Entry {
  readonly state: string
  readonly at: string
  readonly until: string | null
  readonly count: number
  readonly reason: string | null
  readonly runState: string | null
}

const FATES: Readonly<Record<string, Fate>> = {
  'ran completed': 'ran',
  'skipped skipped misfire': 'skipped',
  'failed permanently_failed misfire': 'failed',
}

/** What the ledger says of each instant of a stretch; a word of its own for what no policy can lead to. */
async function ledgerOf(node: Belfry, id: string, [from, to]: readonly [number, number], stepMs: number) {
  const range = `from=${iso(from)}&to=${iso(to)}`
  const { status, body } = await node.request('GET', `/v1/tasks/${id}/ledger?${range}&limit=200`)
  expect(status, JSON.stringify(body)).toBe(200)
  expect(body, JSON.stringify(body)).toMatchObject({ isInOrder: true, nextCursor: null })
  expect(body.accounted).toBe(body.expected)
  const fates = (body.items as Entry[]).flatMap(({ state, at, until, count, reason, runState }) => {
    const first = Math.max(from, Date.parse(at))
    const instants = Array.from(
      { length: (Date.parse(until ?? at) - first) / stepMs + 1 },
      (_, n) => first + n * stepMs,
    )
    expect(instants).toHaveLength(count)
    const said = [state, runState, reason].filter((word) => word !== null).join(' ')
    return instants.map((instant): [number, string] => [instant, FATES[said] ?? said])
  })
  return { fates, expected: body.expected as number }
}

/** Whether it was a catch-up run or a run on time is not the ledger's concern. */
const asLedger = (fates: readonly [number, Fate][]) =>
  fates.map(([at, fate]): [number, string] => [at, fate === 'caught up' ? 'ran' : fate])

/** Nothing of the task is left to do, but for what lies ahead. */
const settled = (url: string, id: string, after: number) =>
  eventually(
    async () => {
      const live = await ask<{ state: string; kind: string; due: number }>(
        url,
        `select state, kind, (extract(epoch from scheduled_for) * 1000)::float8 as due from agenda where task_id = $1`,
        [id],
      )
      const isOver = live.every(({ state, kind }) => state === 'scheduled' && kind === 'occurrence')
      return isOver && live.length === 1 && (live[0]?.due ?? 0) > after
    },
    { withinMs: SETTLED_WITHIN_MS },
  )

test('after a 30-minute outage oracle, receiver and ledger agree under every policy', {
  timeout: within(240_000),
}, async () => {
  const overlap = 'allow'
  const RATE = 20
  const FEW = { policy: 'run_all', cap: 5, rate: 1_000 }
  const WAITING = ['queue_one', 'queue_all', 'cancel_previous']
  const tasks: Outage['tasks'] = {
    once: { overlap },
    lately: { overlap, misfire: { window: '1s' } },
    all: { overlap, misfire: { policy: 'run_all', rate: RATE } },
    capped: { overlap, misfire: { policy: 'run_all', cap: 10, rate: RATE } },
    recent: { overlap, misfire: { policy: 'run_all', window: '10m', rate: RATE } },
    slow: { overlap, misfire: { policy: 'run_all', cap: 4, rate: 1 } },
    inTurn: { overlap: 'skip', misfire: FEW },
    // Each overlap policy that lets runs wait goes through statements of its own, whatever was missed.
    ...Object.fromEntries(
      WAITING.flatMap((waiting) => [
        [`once/${waiting}`, { overlap: waiting }],
        [`few/${waiting}`, { overlap: waiting, misfire: FEW }],
        [`skip/${waiting}`, { overlap: waiting, misfire: { policy: 'skip' } }],
      ]),
    ),
    'fail/queue_all': { overlap: 'queue_all', misfire: { policy: 'fail' } },
    skip: { overlap, misfire: { policy: 'skip' } },
    fail: { overlap, misfire: { policy: 'fail' } },
  }
  const lastsMs = 30 * MINUTE
  const { url, sink, node, from, ids, startedAt, stretchOf } = await afterOutage({
    ...{ intervalMs: MINUTE, lastsMs, signal: 'SIGKILL', tasks },
  })
  for (const id of Object.values(ids)) await settled(url, id, startedAt)
  const settledAt = Date.now()

  const body = { schedule: { type: 'every', interval: '1m', anchor: iso(from) }, startAt: iso(from) }
  for (const [name, { misfire = {} }] of Object.entries(tasks)) {
    const id = ids[name] as string
    const delivered = sink.deliveries.filter(({ taskId }) => taskId === id).map((it) => it.scheduledFor)
    const wish = { body: { action: { type: 'webhook' }, ...body }, createdAt: from }
    const due = dueInstants(wish, Math.floor(settledAt))
    const stretch = await stretchOf(id)
    const onTime = due.filter((at) => at > stretch.to).map((at): [number, Fate] => [at, 'ran'])
    const story = [...fatesOf(due, misfire, stretch), ...onTime]
    const [last = 0] = story.at(-1) ?? []
    expect(last - from).toBeGreaterThanOrEqual(29 * MINUTE)
    const { fates, expected } = await ledgerOf(node, id, [from, last], MINUTE)
    expect(fates, `${name}: the oracle and the ledger`).toEqual(asLedger(story))
    expect(expected).toBe(fates.length)
    expect([...delivered].sort(), `${name}: the ledger and the receiver`).toEqual(
      fates.filter(([, fate]) => fate === 'ran').map(([at]) => at),
    )
    const half = from + 15 * MINUTE
    expect((await ledgerOf(node, id, [half, last], MINUTE)).fates, `${name}: asked for a part`).toEqual(
      fates.filter(([at]) => at >= half),
    )
  }

  // The nth catch-up run comes no sooner than the rate allows after the shard was taken.
  for (const name of ['all', 'capped', 'recent']) {
    const taken = await takenAt(url, ids[name] as string)
    const arrivals = sink.deliveries
      .filter(({ taskId, scheduledFor }) => taskId === ids[name] && scheduledFor <= startedAt)
      .sort((a, b) => a.scheduledFor - b.scheduledFor)
      .map(({ receivedAt }) => receivedAt - taken)
    expect(arrivals.length).toBeGreaterThanOrEqual(9)
    for (const [n, arrivedMs] of arrivals.entries())
      expect(arrivedMs, `${name}: ${arrivals}`).toBeGreaterThan((n * SECOND) / RATE - 100)
  }
  // And never closer to the one before, which may have begun late. On its way to the receiver a call may lose some of that.
  const slow = sink.deliveries
    .filter(({ taskId, scheduledFor }) => taskId === ids['slow'] && scheduledFor <= startedAt)
    .map(({ receivedAt }) => receivedAt)
    .sort((a, b) => a - b)
  expect(slow).toHaveLength(4)
  const gaps = slow.slice(1).map((at, n) => at - (slow[n] ?? 0))
  for (const gap of gaps) expect(gap, `apart by ${gaps} ms`).toBeGreaterThan(SECOND / 2)
  const starts = await ask<{ gap: number }>(
    url,
    `select (extract(epoch from started_at - lag(started_at) over (order by started_at)) * 1000)::float8 as gap
     from run where task_id = $1 and kind = 'catchup'`,
    [ids['slow']],
  )
  for (const { gap } of starts.slice(1)) expect(gap).toBeGreaterThan(SECOND - CLAIMED_WITHIN_MS)
  const kinds = await ask<{ name: string; kinds: string[] }>(
    url,
    `select task_id as name, array_agg(distinct kind) as kinds from run where state = 'completed' and scheduled_for <= $1 group by 1`,
    [iso(startedAt)],
  )
  const kindsOf = (name: string) => kinds.find((row) => row.name === ids[name])?.kinds
  expect(['once', 'all', 'capped', 'recent', 'inTurn', 'skip', 'lately'].map(kindsOf)).toEqual([
    ...['{occurrence}', '{catchup}', '{catchup}', '{catchup}', '{catchup}', undefined, undefined],
  ])
  // What comes due on time goes before them, so only they are compared.
  for (const name of ['inTurn', ...WAITING.map((waiting) => `few/${waiting}`)]) {
    const inTurn = sink.deliveries.filter(
      ({ taskId, scheduledFor }) => taskId === ids[name] && scheduledFor <= startedAt,
    )
    expect(inTurn, name).toHaveLength(5)
    for (const [i, { receivedAt, scheduledFor }] of inTurn.entries()) {
      expect(receivedAt, name).toBeGreaterThanOrEqual(inTurn[i - 1]?.answeredAt ?? 0)
      expect(scheduledFor, name).toBeGreaterThan(inTurn[i - 1]?.scheduledFor ?? 0)
    }
  }
})

test('after a short outage oracle, receiver and ledger agree, even beside a task that cannot be read', {
  timeout: within(240_000),
}, async () => {
  // However long it takes to start a node on a busy machine, to this one it is a short outage.
  const GRACE_MS = 10 * MINUTE
  const POLICIES = ['run_once', 'run_all', 'skip', 'fail'] as const
  const tasks: Outage['tasks'] = Object.fromEntries([
    ...POLICIES.map((policy) => [policy, { overlap: 'allow', misfire: { policy } }]),
    ...POLICIES.map((policy) => [`${policy}/skip`, { overlap: 'skip', misfire: { policy } }]),
    // Not cancel_previous: a newest run that starts late may meet the next occurrence, which cancels it.
    ...['queue_one', 'queue_all'].map((overlap) => [`run_once/${overlap}`, { overlap }]),
    ['narrow', { overlap: 'allow', misfire: { window: '1s' } }],
  ])
  const { url, sink, node, from, ids, stretchOf } = await afterOutage({
    ...{ intervalMs: 5 * SECOND, lastsMs: 25 * SECOND, more: 2, signal: 'SIGTERM' },
    tasks: { ...tasks, broken: {} },
    flags: ['--misfire-grace-ms', String(GRACE_MS)],
  })
  for (const [name, { misfire = {} }] of Object.entries(tasks)) {
    const id = ids[name] as string
    const stretch = { ...(await stretchOf(id)), graceMs: GRACE_MS }
    await eventually(
      async () => (await ask(url, 'select from agenda where task_id = $1', [id])).length === 0,
      { withinMs: SETTLED_WITHIN_MS },
    )
    const due = dueInstants(
      {
        body: {
          action: { type: 'webhook' },
          schedule: { type: 'every', interval: '5s' },
          startAt: iso(from),
        },
        createdAt: from,
      },
      stretch.to,
    )
    const last = due.at(-1) ?? 0
    expect(due.length).toBeGreaterThanOrEqual(5)
    const { fates } = await ledgerOf(node, id, [from, last], 5 * SECOND)
    expect(fates, `${name}: the oracle and the ledger`).toEqual(asLedger(fatesOf(due, misfire, stretch)))
    const delivered = sink.deliveries
      .filter(({ taskId, scheduledFor }) => taskId === id && scheduledFor <= last)
      .map(({ scheduledFor }) => scheduledFor)
    expect(delivered.sort(), `${name}: the ledger and the receiver`).toEqual(
      fates.filter(([, fate]) => fate === 'ran').map(([at]) => at),
    )
  }
  const UNDECIDED = 'cannot decide what to do with due runs'
  await eventually(async () =>
    node.log.some(({ msg, taskId }) => msg === UNDECIDED && taskId === ids['broken']),
  )
})
