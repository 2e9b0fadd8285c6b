/** Calls to targets that hang: they hold nobody's slot, and what is over the limit of a target waits where it costs nothing. */
import { expect, test } from 'vitest'
import { callAll, endsOf, liveRuns, TARGET_LIMIT, untilUnderWay, untilWaiting } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded, createAll, gatesOf, heldPlaces } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startTargets } from '../support/target-servers.ts'

/** Fewer than the calls that hang in these tests. */
const CONCURRENCY = 10
const SLEEP = { type: 'sleep', duration: '0s' }
const WAITING = 40
const AHEAD_MS = 2_000

async function aNodeAndTargets(flags: Record<string, unknown> = {}) {
  const database = await createTestDatabase()
  const node = await startTestNode(database, { concurrency: CONCURRENCY, ...flags })
  return { ...database, node, targets: startTargets() }
}
const completed = (ids: readonly string[]) => ids.map(() => expect.objectContaining({ state: 'completed' }))

test('runs to a healthy target and runs without a call complete while every other call hangs', async () => {
  const { db, node, targets } = await aNodeAndTargets()
  const healthy = await targets.open('healthy')
  const broken = await targets.openMany('silent', 3)
  for (const target of broken) await callAll(node, target, 50)
  await Promise.all(broken.map((target) => untilUnderWay(target, 50)))

  const ids = [
    ...(await callAll(node, healthy, 100)),
    ...(await createAll(node, Array(100).fill({ action: SLEEP }))),
  ]
  await allEnded(db, ids)

  expect(await endsOf(db, ids)).toEqual(completed(ids))
  for (const target of broken) expect(await target.read()).toMatchObject({ underWay: 50, received: 50 })
})

test('runs over the limit of a target wait unclaimed, and runs to other targets pass them', async () => {
  const { db, node, targets } = await aNodeAndTargets()
  const [healthy, silent] = [await targets.open('healthy'), await targets.open('silent')]
  const held = await callAll(node, silent, TARGET_LIMIT + WAITING)
  await untilUnderWay(silent, TARGET_LIMIT)

  const waiting = await untilWaiting(db, held, WAITING)
  const others = await callAll(node, healthy, 100)
  await allEnded(db, others)

  expect(waiting.map(({ workerId, attempt }) => ({ workerId, attempt }))).toEqual(
    waiting.map(() => ({ workerId: null, attempt: 0 })),
  )
  expect((await liveRuns(db, held)).filter(({ workerId }) => workerId !== null)).toHaveLength(TARGET_LIMIT)
  expect(await endsOf(db, others)).toEqual(completed(others))
  expect(await silent.read()).toMatchObject({ underWay: TARGET_LIMIT, received: TARGET_LIMIT })
})

test('when a target has room again, its runs start in the order in which they were due', async () => {
  const { db, node, targets } = await aNodeAndTargets()
  const silent = await targets.open('silent')
  await callAll(node, silent, TARGET_LIMIT)
  await untilUnderWay(silent, TARGET_LIMIT)
  // In the future: occurrences that come due while a busy node does not watch their shards become catch-up runs, behind all others.
  const from = Date.now() + AHEAD_MS
  const startAt = (i: number) => new Date(from + ((i * 7) % WAITING)).toISOString()
  const waiting = await callAll(node, silent, WAITING, (i) => ({ startAt: startAt(i) }))
  await untilWaiting(db, waiting, WAITING)

  for (let released = 1; released <= WAITING; released++) {
    await silent.release(1)
    await eventually(async () => (await silent.read()).received === TARGET_LIMIT + released)
  }

  const due = (await silent.read()).calls.slice(TARGET_LIMIT).map(({ dueAt }) => dueAt)
  expect(due).toEqual([...due].sort((a, b) => a - b))
  expect(new Set(due).size).toBe(WAITING)
})

test('priority decides which target is called next when a node has no room for more calls', async () => {
  const { db, node, targets } = await aNodeAndTargets({ maxCalls: 4 })
  const [silent, first, second] = [
    await targets.open('silent'),
    await targets.open('healthy'),
    await targets.open('healthy'),
  ]
  await callAll(node, silent, 4)
  await untilUnderWay(silent, 4)
  const low = await callAll(node, first, 20, { priority: 5 })
  const high = await callAll(node, second, 20, { priority: -5 })
  await untilWaiting(db, [...low, ...high], 40)

  await silent.release(1)
  await allEnded(db, [...low, ...high])

  const last = Math.max(...(await second.read()).calls.map(({ number }) => number))
  const earliest = Math.min(...(await first.read()).calls.map(({ number }) => number))
  expect(last).toBeLessThan(earliest)
  expect((await targets.underWay()).mostUnderWay).toBe(4)
})

test('however many targets hang, calls to other targets still start', async () => {
  const { db, node, targets } = await aNodeAndTargets({ maxCalls: 100 })
  const [healthy, ...broken] = [await targets.open('healthy'), ...(await targets.openMany('silent', 5))]
  for (const target of broken) await callAll(node, target, 60)
  await eventually(async () => (await targets.underWay()).underWay >= 90)

  const ids = await callAll(node, healthy, 50)
  await allEnded(db, ids)

  expect(await endsOf(db, ids)).toEqual(completed(ids))
  expect((await targets.underWay()).mostUnderWay).toBeLessThanOrEqual(100)
})

test('a concurrency key and a queue limit hold exactly while their targets hang', async () => {
  const { db, node, targets } = await aNodeAndTargets()
  const [keyed, queued, healthy] = [
    await targets.open('silent'),
    await targets.open('silent'),
    await targets.open('healthy'),
  ]
  await node.request('PATCH', '/v1/queues/narrow', { concurrencyLimit: 3 })
  const ofKey = await callAll(node, keyed, 10, { concurrencyKey: 'two', concurrencyLimit: 2 })
  const ofQueue = await callAll(node, queued, 10, { queue: 'narrow' })
  await Promise.all([untilUnderWay(keyed, 2), untilUnderWay(queued, 3)])
  const others = await callAll(node, healthy, 20, { concurrencyKey: 'other', concurrencyLimit: 5 })
  await allEnded(db, others)
  expect((await gatesOf(db)).filter(({ held, holders }) => held !== holders)).toEqual([])

  await eventually(async () => {
    await Promise.all([keyed.release(), queued.release()])
    return (await endsOf(db, [...ofKey, ...ofQueue])).length === 20
  })

  expect(await keyed.read()).toMatchObject({ mostUnderWay: 2, received: 10 })
  expect(await queued.read()).toMatchObject({ mostUnderWay: 3, received: 10 })
  expect(await heldPlaces(db)).toEqual([])
})

test.each([
  ['holds no slot, and other keys go on', {}],
  ['keeps nothing else of its queue waiting that has one slot', { concurrencyLimit: 1 }],
  ['keeps nothing else of its queue waiting that has a rate', { rate: '20/s', burst: 1 }],
])('a run of a key that waits for a full target %s', async (_, limits) => {
  const { db, node, targets } = await aNodeAndTargets()
  const [silent, healthy] = [await targets.open('silent'), await targets.open('healthy')]
  await callAll(node, silent, TARGET_LIMIT)
  await untilUnderWay(silent, TARGET_LIMIT)
  const queue = 'shared'
  if (Object.keys(limits).length > 0) await node.request('PATCH', `/v1/queues/${queue}`, limits)
  const waiting = await callAll(node, silent, 3, { queue, concurrencyKey: 'full', concurrencyLimit: 1 })
  await untilWaiting(db, waiting, 3)
  // The first is claimed once, to learn that its target is full.
  await eventually(async () => (await heldPlaces(db)).length === 0)

  const others = await callAll(node, healthy, 3, { queue, concurrencyKey: 'other', concurrencyLimit: 1 })
  await allEnded(db, others)
  await silent.behave('healthy')
  await silent.release()
  await allEnded(db, waiting)

  expect(await endsOf(db, [...waiting, ...others])).toEqual(completed([...waiting, ...others]))
  expect(await heldPlaces(db)).toEqual([])
})
