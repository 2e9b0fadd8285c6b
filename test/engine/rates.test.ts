/** Rates of queues and of concurrency keys: exact over all workers, by the database's record of every claim. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded, createAll, heldPlaces } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSink } from '../support/sink.ts'

const database = await createTestDatabase()
const { db } = database
// Every claim leaves its instant here, also those that were followed by others.
await db.run(sql`create table claim_seen (n bigserial, task_id uuid, run_id uuid, us bigint)`)
await db.run(sql`
  create function see_claim() returns trigger language plpgsql as $$
  begin
    insert into claim_seen (task_id, run_id, us) values (new.task_id, new.run_id, extract(epoch from new.claimed_at) * 1000000);
    return null;
  end $$`)
await db.run(sql`
  create trigger see_claim after update on agenda for each row
  when (new.state = 'running' and new.fence > old.fence) execute function see_claim()`)

const node = await startTestNode(database, { concurrency: 20 })
await startTestNode(database, { concurrency: 20, roles: 'worker,liveness' })
await startTestNode(database, { concurrency: 20, roles: 'worker' })

const SLEEP = { type: 'sleep', duration: '0s' }
const times = <T>(count: number, one: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => one(i))
const edit = async (queue: string, settings: object) =>
  (await node.request('PATCH', `/v1/queues/${queue}`, settings)).body
const due = (i: number) => new Date(Date.now() - 60_000 + i).toISOString()
const ended = async (ids: readonly string[]) => {
  const [row] = await db.run(
    sql<{ n: number }>`select count(*)::integer as n from run where task_id = any(${ids}::uuid[])`,
  )
  return row?.n ?? 0
}

/** Claims of runs of these tasks, in the order they were made. */
const claimsOf = (ids: readonly string[]) =>
  db.run(
    sql<{
      taskId: string
      us: number
    }>`select task_id as "taskId", us from claim_seen where task_id = any(${ids}::uuid[]) order by us, n`,
  )

/** Pairs of claims between which there are more than a burst and what the rate allows in the meantime. */
function excess(
  claims: readonly { us: number }[],
  { gapUs, burst }: { gapUs: number; burst: number },
): string[] {
  const found: string[] = []
  for (const [i, first] of claims.entries())
    for (const [j, last] of claims.entries())
      if (j >= i && (j - i + 1 - burst) * gapUs > last.us - first.us)
        found.push(`${j - i + 1} within ${last.us - first.us} us`)
  return found
}

test('three workers together start runs of a queue at its rate in any period, no more and no fewer', async () => {
  await edit('fifty', { rate: '50/s', burst: 5 })

  const ids = await createAll(
    node,
    times(150, () => ({ action: SLEEP, queue: 'fifty' })),
  )
  await allEnded(db, ids)

  const claims = await claimsOf(ids)
  expect(claims).toHaveLength(150)
  expect(excess(claims, { gapUs: 20_000, burst: 5 })).toEqual([])
  const seconds = ((claims.at(-1)?.us ?? 0) - (claims[0]?.us ?? 0)) / 1_000_000
  // Idle, it takes 2.9 s; a machine that is busy with other tests may miss some of its turns.
  expect(seconds).toBeLessThan(10)
  expect(await heldPlaces(db)).toEqual([])
})

test('runs of a key start in due order at its rate, even with a high limit', async () => {
  const keyed = { queue: 'ordered', concurrencyKey: 'ordered', concurrencyLimit: 100_000 }
  const rated = { ...keyed, concurrencyRate: '100/s', concurrencyBurst: 1 }
  await node.request('POST', '/v1/queues/ordered/pause')
  const ids = await createAll(
    node,
    times(40, (i) => ({ action: SLEEP, ...rated, startAt: due(i) })),
  )

  await node.request('POST', '/v1/queues/ordered/resume')
  await allEnded(db, ids)

  const claims = await claimsOf(ids)
  expect(excess(claims, { gapUs: 10_000, burst: 1 })).toEqual([])
  const [strictly] = await db.run(sql<{ inOrder: boolean }>`
    select array_agg(task_id order by n) = ${ids}::uuid[] as "inOrder" from claim_seen where task_id = any(${ids}::uuid[])`)
  expect(strictly?.inOrder).toBe(true)
})

test('rates of a queue and its keys hold together, by priority, and a key at its rate blocks no other run', async () => {
  await edit('both', { rate: '40/s', burst: 1 })
  await node.request('POST', '/v1/queues/both/pause')
  const slow = { queue: 'both', concurrencyKey: 'slow', concurrencyLimit: 9, concurrencyRate: '1/h' }
  const tasks = times(20, (i) => ({
    action: SLEEP,
    queue: 'both',
    priority: i < 10 ? 5 : 0,
    startAt: due(i),
  }))
  const ids = await createAll(node, [
    ...times(3, () => ({ action: SLEEP, ...slow, startAt: due(0) })),
    ...tasks,
  ])
  const [keyed, plain] = [ids.slice(0, 3), ids.slice(3)]

  await node.request('POST', '/v1/queues/both/resume')
  await allEnded(db, plain)

  const claims = await claimsOf(ids)
  expect(excess(claims, { gapUs: 25_000, burst: 1 })).toEqual([])
  expect(claims.filter(({ taskId }) => keyed.includes(taskId))).toHaveLength(1)
  const order = claims
    .filter(({ taskId }) => plain.includes(taskId))
    .map(({ taskId }) => plain.indexOf(taskId))
  expect(order.slice(0, 10).every((i) => i >= 10)).toBe(true)
  const { body: why } = await node.request(
    'GET',
    `/v1/tasks/${keyed.find((id) => !claims.some(({ taskId }) => taskId === id))}/why`,
  )
  expect(why).toMatchObject({ code: 'key_rate_limited', facts: { key: 'slow', rate: '1/h' } })

  await node.request('PATCH', `/v1/tasks/${keyed[0]}`, { concurrencyRate: '100/s' })
  await allEnded(db, keyed)
})

test('a rate is raised, lifted and lowered while runs wait for it', async () => {
  expect(await edit('edited', { rate: '1/h' })).toMatchObject({ rate: '1/h', burst: null, running: null })
  const ids = await createAll(
    node,
    times(120, (i) => ({ action: SLEEP, queue: 'edited', startAt: due(i) })),
  )
  await eventually(async () => (await ended(ids)) === 1)
  const why = await eventually(async () => {
    const { body } = await node.request('GET', `/v1/tasks/${ids.at(-1)}/why`)
    return body.code === 'queue_rate_limited' && body
  })
  expect(Date.parse(why.facts.until) - Date.now()).toBeGreaterThan(3_000_000)

  await edit('edited', { rate: '100/s', burst: 1 })
  await eventually(async () => (await ended(ids)) > 10)
  expect(await edit('edited', { rate: '1/h' })).toMatchObject({ rate: '1/h', burst: 1 })
  const lowered = await claimsOf(ids)
  expect(excess(lowered.slice(1), { gapUs: 10_000, burst: 1 })).toEqual([])
  expect(lowered.length).toBeLessThan(120)
  await edit('edited', { rate: null })
  await allEnded(db, ids)

  expect(await node.request('GET', '/v1/queues/edited')).toMatchObject({ body: { rate: null, burst: null } })
  expect(await heldPlaces(db)).toEqual([])
})

test('a queue continues at its rate after the clock was set back', async () => {
  await edit('turned-back', { rate: '20/s', burst: 2 })
  await createAll(node, [{ action: SLEEP, queue: 'turned-back' }])
  // As it looks an hour before the latest start.
  await db.run(sql`update gate set next_at = now() + interval '1 hour' where queue = 'turned-back'`)

  const ids = await createAll(
    node,
    times(12, () => ({ action: SLEEP, queue: 'turned-back' })),
  )
  await allEnded(db, ids)

  expect(excess(await claimsOf(ids), { gapUs: 50_000, burst: 2 })).toEqual([])
})

test('a retry counts as a start against the rate', async () => {
  const sink = await startSink(() => ({ status: 500 }))
  const keyed = { queue: 'again', concurrencyKey: 'again', concurrencyRate: '5/s', concurrencyBurst: 1 }

  const ids = await createAll(
    node,
    times(2, () => ({
      ...keyed,
      action: { type: 'ping', url: sink.url },
      retry: { limit: 2, initial: '0s', max: '0s' },
    })),
  )
  await allEnded(db, ids)

  expect(sink.hits).toHaveLength(6)
  expect(excess(await claimsOf(ids), { gapUs: 200_000, burst: 1 })).toEqual([])
})

test('a run that cannot be claimed does not block other runs of its queue', async () => {
  await edit('spoilt', { rate: '100/s', burst: 3 })
  await node.request('POST', '/v1/queues/spoilt/pause')
  const ids = await createAll(
    node,
    times(20, (i) => ({ action: SLEEP, queue: 'spoilt', startAt: due(i) })),
  )
  await eventually(async () => (await node.request('GET', '/v1/queues/spoilt')).body.waiting === 20)
  await db.run(sql`update agenda set fence = 2147483647 where task_id = ${ids[0] ?? ''}`)

  await node.request('POST', '/v1/queues/spoilt/resume')
  await allEnded(db, ids.slice(1))

  expect(excess(await claimsOf(ids), { gapUs: 10_000, burst: 3 })).toEqual([])
})

test('remote workers get no more runs than the rate allows, and a waiting claim returns when it allows more', async () => {
  await edit('remote', { rate: '10/s', burst: 1 })
  const ids = await createAll(
    node,
    times(4, () => ({ action: { type: 'handler', name: 'rated' }, queue: 'remote' })),
  )
  const workers = await Promise.all(times(2, () => aWorker(node.url, { handlers: ['rated'] })))

  const given = await Promise.all(
    workers.map(async (worker) => [...(await worker.claim(5)), ...(await worker.claim(5))]),
  )

  expect(given.flat()).toHaveLength(4)
  expect(excess(await claimsOf(ids), { gapUs: 100_000, burst: 1 })).toEqual([])
})
