/** A target that is down is left alone: its runs wait and burn no attempts, one of them tries it from time to time. */
import { expect, test } from 'vitest'
import { callAll, endsOf, liveRuns, untilWaiting } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startTargets, type Target, type TargetKind } from '../support/target-servers.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 10 })

const TASKS = 20
/** Four attempts in a fraction of a second, for whom nobody keeps from making them. */
const HASTY = { retry: { limit: 3, initial: '1ms', max: '1ms' } }
const attemptsOf = async (ids: readonly string[]) => (await endsOf(db, ids)).map(({ attempt }) => attempt)
const statesOf = async (ids: readonly string[]) => (await endsOf(db, ids)).map(({ state }) => state)

const BROKEN: readonly TargetKind[] = ['refuses', 'resets', 'closes', 'unavailable', 'garbage']

test('runs wait while their target is broken, and complete when it works again', async () => {
  const targets = startTargets()
  // Side by side: each of them waits for its own target.
  await Promise.all(BROKEN.map(async (kind) => breakAndMend(kind, await targets.open(kind))))
})

async function breakAndMend(kind: TargetKind, target: Target): Promise<void> {
  const ids = await callAll(node, target, TASKS, HASTY)
  const waiting = await untilWaiting(db, ids, TASKS)
  const { connections } = await target.read()
  // Only what is not https can get well here.
  if (kind === 'garbage') return expect(await statesOf(ids), kind).toEqual([])
  await target.behave('healthy')
  await allEnded(db, ids)

  expect(
    waiting.map(({ workerId }) => workerId),
    kind,
  ).toEqual(waiting.map(() => null))
  // Each may have tried once before anybody knew, and a few of them once more.
  expect(connections, kind).toBeLessThan(2 * TASKS)
  expect(await statesOf(ids), kind).toEqual(ids.map(() => 'completed'))
  expect(Math.max(...(await attemptsOf(ids))), kind).toBeLessThanOrEqual(3)
}

test('a target that is down is probed by one run at a time', async () => {
  const target = await startTargets().open('resets')
  const ids = await callAll(node, target, TASKS, { retry: { limit: 20, initial: '1ms', max: '1ms' } })
  await untilWaiting(db, ids, TASKS)
  const { received: before } = await target.read()

  await eventually(async () => (await target.read()).received >= before + 2)
  const { calls } = await target.read()
  await untilWaiting(db, ids, TASKS)
  const attempts = (await liveRuns(db, ids)).map(({ attempt }) => attempt)
  await Promise.all(ids.map((id) => node.request('POST', `/v1/tasks/${id}/cancel`)))

  const [first, second] = calls.slice(before)
  // Seconds apart, where without a circuit they would be milliseconds apart.
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1_000)
  expect(attempts.reduce((sum, attempt) => sum + attempt, 0)).toBe(before + 2)
})

test('errors of an application count against their own task and do not block other tasks', async () => {
  const target = await startTargets().open('fails')
  const failing = await callAll(node, target, TASKS, HASTY)
  await allEnded(db, failing)

  await target.behave('healthy')
  const others = await callAll(node, target, TASKS, HASTY)
  await allEnded(db, others)

  expect(await endsOf(db, failing)).toEqual(
    failing.map(() => expect.objectContaining({ state: 'permanently_failed', attempt: 4 })),
  )
  expect(await attemptsOf(others)).toEqual(others.map(() => 1))
})

test('a target that is down delays no run to another target, even in a shared queue', async () => {
  const targets = startTargets()
  const [down, healthy] = [await targets.open('refuses'), await targets.open('healthy')]
  await node.request('PATCH', '/v1/queues/shared', { concurrencyLimit: 50 })
  const shared = { queue: 'shared', ...HASTY }
  const ids = await callAll(node, down, TASKS, shared)
  await untilWaiting(db, ids, TASKS)

  const others = await callAll(node, healthy, TASKS, shared)
  await allEnded(db, others)

  expect(await statesOf(others)).toEqual(others.map(() => 'completed'))
  expect(await statesOf(ids)).toEqual([])
  await Promise.all(ids.map((id) => node.request('POST', `/v1/tasks/${id}/cancel`)))
})
