/** No more at once than there are places: behind a key, and of a queue with a limit. */

import { afterEach, describe, expect, test } from 'vitest'
import type { ClaimedRun } from '../../../src/core/run/claim.ts'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { endRuns } from '../../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../../src/store/agenda/retries.ts'
import { handBackRuns, reclaimRuns } from '../../../src/store/nodes/leased-runs.ts'
import { declareDead } from '../../../src/store/nodes/nodes.ts'
import { makeProjectGate, readProjectGate, setProjectGate } from '../../../src/store/queues/project-gates.ts'
import { setQueueLimit } from '../../../src/store/queues/queue-limits.ts'
import { type Bench, ending, idsOf, retry, type Waiting } from '../bench.ts'

export function gates({ db, rig, aLane, aGatedLane, aWorker, claimGated, takeGated }: Bench): void {
  describe('behind a gate', () => {
    test('no more runs are claimed than there are free slots, across all workers', async () => {
      const lane = await aGatedLane(3)
      const runs = await lane.put({ count: 30 })
      const workers = await Promise.all(Array.from({ length: 6 }, aWorker))
      const done: string[] = []

      for (let round = 0; done.length < runs.length; round++) {
        expect(round).toBeLessThan(30)
        const claims = await Promise.all(
          workers.map((workerId) => takeGated({ workerId, lanes: [lane.id], limit: 10 })),
        )
        const claimed = claims.flat()
        expect(claimed.length).toBeGreaterThan(0)
        expect(claimed.length).toBeLessThanOrEqual(3)
        expect(await takeGated({ workerId: await aWorker(), lanes: [lane.id], limit: 10 })).toEqual([])
        await db.run(endRuns(claimed.map(ending)))
        done.push(...idsOf(claimed))
      }

      expect(done.sort()).toEqual(idsOf(runs))
    })

    test('with one slot, runs are claimed strictly by priority and then by due time', async () => {
      const lane = await aGatedLane(1)
      const now = Date.now()
      const [third, first, second, fourth] = await lane.put(
        { dueAt: now - 3_000 },
        { dueAt: now - 1_000, priority: -1 },
        { dueAt: now - 5_000 },
        { dueAt: now - 9_000, priority: 1 },
      )
      const workers = [await aWorker(), await aWorker()]

      const order: string[] = []
      for (let i = 0; i < 4; i++) {
        const claims = await Promise.all(
          workers.map((workerId) => takeGated({ workerId, lanes: [lane.id], limit: 10 })),
        )
        const claimed = claims.flat()
        order.push(...idsOf(claimed))
        await db.run(endRuns(claimed.map(ending)))
      }

      expect(order).toEqual([first, second, third, fourth].map((run) => run?.runId))
    })

    test('the limit of a claim holds across all gates', async () => {
      const [one, other] = [await aGatedLane(5), await aGatedLane(5)]
      await one.put({ count: 4 })
      await other.put({ count: 4 })
      const workerId = await aWorker()
      const claim = () => takeGated({ workerId, lanes: [one.id, other.id], limit: 5 })

      expect([(await claim()).length, (await claim()).length, (await claim()).length]).toEqual([5, 3, 0])
    })

    test('a dead worker takes nothing', async () => {
      const lane = await aGatedLane(2)
      await lane.put({ count: 2 })
      const dead = await aWorker()
      await db.run(declareDead({ nodeId: dead, beat: null, reason: 'lost' }))

      expect(await takeGated({ workerId: dead, lanes: [lane.id], limit: 5 })).toEqual([])
      expect(await takeGated({ workerId: await aWorker(), lanes: [lane.id], limit: 5 })).toHaveLength(2)
    })

    test.each([
      ['ends', (run: ClaimedRun) => db.run(endRuns([ending(run)]))],
      ['waits for its retry', (run: ClaimedRun) => db.run(retryRuns([retry(run)]))],
    ])('a slot is freed when its run %s, and only once', async (_, giveUp) => {
      const lane = await aGatedLane(1)
      const [first, second] = (await lane.put({ dueAt: Date.now() - 9_000 }, {})) as [Waiting, Waiting]
      const workerId = await aWorker()
      const claim = () => takeGated({ workerId, lanes: [lane.id], limit: 5 })
      const [held] = (await claim()) as [ClaimedRun]
      expect(held.runId).toBe(first.runId)
      expect(await claim()).toEqual([])

      await giveUp(held)
      await giveUp(held)
      await rig.settled()

      expect(idsOf(await claim())).toEqual([second.runId])
      expect(await claim()).toEqual([])
    })

    test.each([
      ['is taken back', (run: ClaimedRun) => db.run(reclaimRuns([run]))],
      ['is handed back', (run: ClaimedRun) => db.run(handBackRuns([run]))],
    ])('a run that %s is the next to be claimed, for the same slot', async (_, giveBack) => {
      const lane = await aGatedLane(1)
      const [first] = (await lane.put({ dueAt: Date.now() - 9_000 }, {})) as [Waiting]
      const workerId = await aWorker()
      const claim = () => takeGated({ workerId, lanes: [lane.id], limit: 5 })
      const [held] = (await claim()) as [ClaimedRun]

      await giveBack(held)
      await giveBack(held)
      await rig.settled()

      const again = await claim()
      expect(idsOf(again)).toEqual([first.runId])
      expect(again[0]?.fence).toBeGreaterThan(held.fence)
      expect(await claim()).toEqual([])
    })
  })

  describe('behind the gate of a key with a rate', () => {
    /** So slow that nothing may start beyond the burst while the test runs. */
    const aRatedLane = async (burst: number) => {
      const key = { concurrencyKey: `rated-${burst}`, concurrencyLimit: 100 }
      const lane = await aLane({ ...key, concurrencyRate: '1/h', concurrencyBurst: burst })
      const claim = async (limit = 10) => takeGated({ workerId: await aWorker(), lanes: [lane.id], limit })
      return { ...lane, claim }
    }

    test('no more runs are claimed than its burst, across all workers, even after they have ended', async () => {
      const { put, claim } = await aRatedLane(4)
      await put({ count: 20 })

      const claims = await Promise.all(Array.from({ length: 6 }, () => claim(3)))
      const rest = await claim()
      await db.run(endRuns([...claims.flat(), ...rest].map(ending)))

      expect([...claims.flat(), ...rest]).toHaveLength(4)
      expect(await claim()).toEqual([])
    })

    test('a run that is handed back does not count as started, unless others were claimed since', async () => {
      const { put, claim } = await aRatedLane(3)
      await put({ count: 20 })
      const [first] = (await claim(1)) as [ClaimedRun]
      const [second, third] = (await claim(2)) as [ClaimedRun, ClaimedRun]

      await db.run(handBackRuns([first]))
      expect(await claim()).toEqual([])
      await db.run(handBackRuns([second, third]))
      await db.run(handBackRuns([second, third]))
      await rig.settled()

      expect(await claim()).toHaveLength(2)
      expect(await claim()).toEqual([])
    })

    test('a run that is reclaimed counts as started', async () => {
      const { put, claim } = await aRatedLane(1)
      await put({ count: 2 })
      const [run] = (await claim()) as [ClaimedRun]

      await db.run(reclaimRuns([run]))
      await rig.settled()

      expect(await claim()).toEqual([])
    })
  })

  describe('behind the gate of a project with a limit', () => {
    const limitProject = (maxRunning: number | null) =>
      db.run(setProjectGate({ projectId: DEFAULT_PROJECT_ID, maxRunning, runRate: null }))
    const heldByProject = async () =>
      (await db.run(readProjectGate(DEFAULT_PROJECT_ID))).map(({ running }) => running)

    afterEach(() => limitProject(null))

    test('no more runs are claimed than it has slots, across all queues and keys, and each ended lease frees one', async () => {
      await db.run(makeProjectGate(DEFAULT_PROJECT_ID))
      await limitProject(1_000)
      // Tests before this one may have left runs in progress, which count.
      const [before = 0] = await heldByProject()
      await limitProject(before + 3)
      const [open, other] = [await aLane(), await aLane()]
      const keyed = await aLane({ queue: other.queue, concurrencyKey: 'key', concurrencyLimit: 2 })
      await db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: other.queue, limit: 2 }))
      const lanes = [open.id, other.id, keyed.id]
      const now = Date.now()
      const best = [...(await open.put({ dueAt: now - 9_000 })), ...(await keyed.put({ dueAt: now - 8_000 }))]
      for (const lane of [open, other, keyed]) await lane.put({ count: 4, dueAt: now - 1_000 })
      const workers = await Promise.all(Array.from({ length: 4 }, aWorker))
      const takeAll = async () =>
        (await Promise.all(workers.map((workerId) => takeGated({ workerId, lanes, limit: 10 })))).flat()

      const first = await takeAll()
      expect(first).toHaveLength(3)
      expect(idsOf(first)).toEqual(expect.arrayContaining(idsOf(best)))
      expect(await takeAll()).toEqual([])
      await db.run(retryRuns(first.slice(0, 1).map(retry)))
      await db.run(reclaimRuns(first.slice(1, 2)))
      await db.run(handBackRuns(first.slice(2)))
      expect(await heldByProject()).toEqual([before])

      for (let round = 0, left = 13; left > 0; round++) {
        expect(round).toBeLessThan(20)
        const claimed = await takeAll()
        expect(await heldByProject()).toEqual([before + claimed.length])
        expect(claimed.length).toBeGreaterThan(0)
        expect(claimed.length).toBeLessThanOrEqual(3)
        await db.run(endRuns(claimed.map(ending)))
        left -= claimed.length
      }
      expect(await heldByProject()).toEqual([before])
    })
  })

  describe('behind the gate of a queue with a limit', () => {
    /** A queue, a lane of it without a key and one with. */
    async function aLimitedQueue(limit: number) {
      const open = await aLane()
      const keyed = await aLane({ queue: open.queue, concurrencyKey: 'key', concurrencyLimit: 5 })
      await db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: open.queue, limit }))
      return { open, keyed, lanes: [open.id, keyed.id] }
    }

    test('no more runs are claimed than it has slots, across all its lanes and all workers', async () => {
      const { open, keyed, lanes } = await aLimitedQueue(4)
      const runs = [...(await open.put({ count: 10 })), ...(await keyed.put({ count: 10 }))]
      const workers = await Promise.all(Array.from({ length: 5 }, aWorker))
      const done: string[] = []

      for (let round = 0; done.length < runs.length; round++) {
        expect(round).toBeLessThan(20)
        const claims = await Promise.all(workers.map((workerId) => takeGated({ workerId, lanes, limit: 10 })))
        const claimed = claims.flat()
        expect(claimed.length).toBeGreaterThan(0)
        expect(claimed.length).toBeLessThanOrEqual(4)
        await db.run(endRuns(claimed.map(ending)))
        done.push(...idsOf(claimed))
      }

      expect(done.sort()).toEqual(idsOf(runs))
    })

    test('runs are claimed in order across all its lanes', async () => {
      const { open, keyed, lanes } = await aLimitedQueue(2)
      const now = Date.now()
      const [first, fourth] = await open.put({ dueAt: now - 9_000 }, { dueAt: now - 1_000, priority: 1 })
      const [second, third] = await keyed.put({ dueAt: now - 8_000 }, { dueAt: now - 7_000 })
      const workerId = await aWorker()

      const best = await takeGated({ workerId, lanes, limit: 10 })
      await db.run(endRuns(best.map(ending)))
      const rest = await takeGated({ workerId, lanes, limit: 10 })

      expect(idsOf(best)).toEqual(idsOf([first, second] as Waiting[]))
      expect(idsOf(rest)).toEqual(idsOf([third, fourth] as Waiting[]))
    })

    test('a late claim takes no run that comes after the next run of another lane', async () => {
      const { open, keyed } = await aLimitedQueue(1)
      const now = Date.now()
      const [first, third] = (await open.put({ dueAt: now - 9_000 }, { dueAt: now - 7_000 })) as Waiting[]
      await keyed.put({ dueAt: now - 8_000 })
      const upTo = new Map([[open.id, { priority: 0, wakeAt: new Date(now - 8_000).toISOString() }]])
      const claim = async () => claimGated({ workerId: await aWorker(), lanes: [open.id], limit: 1, upTo })

      const inTime = await claim()
      await db.run(endRuns(inTime.runs.map(ending)))
      const late = await claim()

      expect(idsOf(inTime.runs)).toEqual([first?.runId])
      expect(late).toEqual({ runs: [], isShort: true })
      upTo.clear()
      expect(idsOf((await claim()).runs)).toEqual([third?.runId])
    })

    test('a run that is reclaimed frees both its slots', async () => {
      const { keyed, lanes } = await aLimitedQueue(1)
      const [run] = (await keyed.put({})) as [Waiting]
      const claim = async () => takeGated({ workerId: await aWorker(), lanes, limit: 10 })
      const [held] = (await claim()) as [ClaimedRun]

      await db.run(reclaimRuns([held]))
      await db.run(reclaimRuns([held]))
      await rig.settled()

      expect(idsOf(await claim())).toEqual([run.runId])
      expect(await claim()).toEqual([])
    })
  })
}
