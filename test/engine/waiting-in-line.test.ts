/** What can happen to a run while it waits because its target is full: all that can happen to any run that waits. */
import { expect, test } from 'vitest'
import { callAll, endsOf, liveRuns, TARGET_LIMIT, untilUnderWay, untilWaiting } from '../support/calling.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { allEnded } from '../support/limits.ts'
import { startTestNode } from '../support/node.ts'
import { startTargets } from '../support/target-servers.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { concurrency: 10 })

/** A target that is full, and runs that wait for it. */
async function aFullTarget(waiting: number, fields: Record<string, unknown> = {}) {
  const target = await startTargets().open('silent')
  const held = await callAll(node, target, TARGET_LIMIT)
  await untilUnderWay(target, TARGET_LIMIT)
  const ids = await callAll(node, target, waiting, (i) => ({
    action: { type: 'webhook', url: `${target.url}/waiting-${i}` },
    ...fields,
  }))
  return {
    target,
    held,
    ids,
    /** The paths of those that were called though they waited at first. */
    called: async () =>
      (await target.read()).calls
        .map(({ path }) => path)
        .filter((path) => path.startsWith('/waiting'))
        .sort(),
    recover: async () => {
      await target.behave('healthy')
      await target.release()
    },
  }
}
const ends = async (ids: readonly string[]) =>
  (await endsOf(db, ids)).map(({ state, reason, attempt }) => ({ state, reason, attempt }))
const COMPLETED = { state: 'completed', reason: null, attempt: 1 }

test('cancelling a run that waits for its target ends it, and the target is never called', async () => {
  const { ids, held, called, recover } = await aFullTarget(4)
  const waiting = await untilWaiting(db, ids, 4)

  const byRun = await node.request('POST', `/v1/runs/${waiting[0]?.runId}/cancel`)
  const byTask = await node.request('POST', `/v1/tasks/${waiting[1]?.taskId}/cancel`)
  await allEnded(
    db,
    [waiting[0], waiting[1]].map((run) => run?.taskId ?? ''),
  )
  await recover()
  await allEnded(db, [...ids, ...held])

  expect([byRun.status, byTask.status]).toEqual([200, 200])
  const [first, second, ...others] = waiting.map(({ taskId }) => taskId)
  const cancelled = { state: 'cancelled', attempt: 0 }
  expect(await ends([first ?? '', second ?? ''])).toMatchObject([cancelled, cancelled])
  expect(await ends(others)).toEqual([COMPLETED, COMPLETED])
  expect(await called()).toHaveLength(2)
})

test('a run that waits for its target for longer than its queueTimeout is skipped', async () => {
  const { ids, held, called, recover } = await aFullTarget(3, { queueTimeout: '2s' })

  await allEnded(db, ids)
  await recover()
  await allEnded(db, held)

  const skipped = { state: 'skipped', reason: 'queue_timeout', attempt: 0 }
  expect(await ends(ids)).toEqual([skipped, skipped, skipped])
  expect(await called()).toEqual([])
})

test('deleting a task ends its run that waits for its target', async () => {
  const { ids, held, called, recover } = await aFullTarget(2)
  await untilWaiting(db, ids, 2)
  const [deleted = '', kept = ''] = ids

  const { status } = await node.request('DELETE', `/v1/tasks/${deleted}`)
  await allEnded(db, [deleted])
  await recover()
  await allEnded(db, [kept, ...held])

  expect(status).toBe(204)
  expect(await ends(ids)).toMatchObject([{ state: 'cancelled', attempt: 0 }, COMPLETED])
  expect(await called()).toEqual(['/waiting-1'])
})

test('a run that waits for its target keeps the version of its task that it was due with', async () => {
  const { ids, held, called, recover } = await aFullTarget(1, { schedule: { type: 'manual' } })
  const [id = ''] = ids
  await node.request('POST', `/v1/tasks/${id}/trigger`)
  await untilWaiting(db, ids, 1)
  const elsewhere = await startTargets().open('healthy')

  const edited = await node.request('PATCH', `/v1/tasks/${id}`, {
    action: { type: 'webhook', url: `${elsewhere.url}/` },
  })
  await recover()
  await allEnded(db, [...ids, ...held])

  expect(edited.status).toBe(200)
  expect(await ends(ids)).toEqual([COMPLETED])
  expect([await called(), (await elsewhere.read()).received]).toEqual([['/waiting-0'], 0])
})

test('a paused queue keeps its runs that wait for a target until it is resumed', async () => {
  const { ids, held, called, recover } = await aFullTarget(3, { queue: 'of-the-full' })
  await untilWaiting(db, ids, 3)

  await node.request('POST', '/v1/queues/of-the-full/pause')
  await recover()
  await allEnded(db, held)
  const paused = await liveRuns(db, ids)
  await node.request('POST', '/v1/queues/of-the-full/resume')
  await allEnded(db, ids)

  expect(paused.map(({ state, attempt }) => ({ state, attempt }))).toEqual(
    ids.map(() => ({ state: 'pending', attempt: 0 })),
  )
  expect(await ends(ids)).toEqual([COMPLETED, COMPLETED, COMPLETED])
  expect(await called()).toHaveLength(3)
})

test('all runs that wait for a target perform their calls after a node stops and another one starts', async () => {
  const other = await createTestDatabase()
  const first = await startTestNode(other, { shutdownGraceMs: 0 })
  const target = await startTargets().open('silent')
  const ids = await callAll(first, target, TARGET_LIMIT + 30)
  await untilUnderWay(target, TARGET_LIMIT)
  await untilWaiting(other.db, ids, 30)

  await target.behave('healthy')
  await first.stop()
  await startTestNode(other)
  await allEnded(other.db, ids)

  const states = (await endsOf(other.db, ids)).map(({ state }) => state)
  expect(states).toEqual(ids.map(() => 'completed'))
  const paths = new Set((await target.read()).calls.map(({ path }) => path))
  expect(paths.size).toBe(ids.length)
  await eventually(async () => (await liveRuns(other.db, ids)).length === 0)
})
