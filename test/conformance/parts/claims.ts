/** Who gets which runs, how many, and in which order. */

import { describe, expect, test } from 'vitest'
import { uuidv7 } from '../../../src/core/ids.ts'
import type { ClaimedRun } from '../../../src/core/run/claim.ts'
import { DEFAULT_PROJECT_ID } from '../../../src/core/values/default-project.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { declareDead } from '../../../src/store/nodes/nodes.ts'
import { servedLanes, setQueuePaused } from '../../../src/store/queues/queues.ts'
import { cancelRuns, lockRuns } from '../../../src/store/tasks/cancel.ts'
import { liveRow } from '../../support/agenda.ts'
import { type Bench, idsOf, type Waiting } from '../bench.ts'

export function claims({ db, rig, aLane, aWorker, take }: Bench): void {
  describe('a claim', () => {
    test('sets the live row to running, with the worker and a new fence', async () => {
      const lane = await aLane()
      const [run] = (await lane.put({})) as [Waiting]
      const workerId = await aWorker()
      const before = await liveRow(db, run.runId)

      const claimed = await take({ workerId, lanes: [lane.id], limit: 10 })

      const after = await liveRow(db, run.runId)
      expect(before).toMatchObject({ state: 'pending', attempt: 0, workerId: null })
      expect(after).toMatchObject({ state: 'running', attempt: 1, losses: 0, workerId })
      expect(after?.fence).toBeGreaterThan(before?.fence ?? 0)
      const { runId, taskId } = run
      expect(claimed).toMatchObject([
        { runId, taskId, fence: after?.fence, attempt: 1, losses: 0, version: 1 },
      ])
    })

    test('returns the instant at which the run was due', async () => {
      const lane = await aLane()
      const dueAt = Date.now() - 12_345
      await lane.put({ dueAt })

      const [claimed] = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 1 })

      expect(claimed?.scheduledFor).toBe(dueAt)
    })

    test('takes runs with the smallest priority number first, and of these the earliest due', async () => {
      const lane = await aLane()
      const now = Date.now()
      const [late, early, urgent, urgentEarly, idle] = await lane.put(
        { dueAt: now - 1_000 },
        { dueAt: now - 9_000 },
        { dueAt: now - 1_000, priority: -5 },
        { dueAt: now - 2_000, priority: -5 },
        { dueAt: now - 60_000, priority: 5 },
      )
      const workerId = await aWorker()

      const taken: string[] = []
      for (let i = 0; i < 5; i++) taken.push(...idsOf(await take({ workerId, lanes: [lane.id], limit: 1 })))

      expect(taken).toEqual([urgentEarly, urgent, early, late, idle].map((run) => run?.runId))
    })

    test('takes the first runs across all its lanes, not the first of each lane', async () => {
      const [one, other] = [await aLane(), await aLane()]
      const now = Date.now()
      const [first] = await one.put({ dueAt: now - 9_000 }, { dueAt: now - 2_000 })
      const [second] = await other.put({ dueAt: now - 8_000 }, { dueAt: now - 1_000 })

      const claimed = await take({
        ...{ workerId: await aWorker(), lanes: [other.id, one.id], limit: 2 },
      })

      expect(idsOf(claimed)).toEqual(idsOf([first, second] as Waiting[]))
    })

    test('takes turns between lanes of equal priority, so that a crowded lane does not block others', async () => {
      const [crowded, one, other] = [await aLane(), await aLane(), await aLane()]
      const now = Date.now()
      await crowded.put({ dueAt: now - 9_000, count: 30 })
      const [first, second] = (await one.put({ dueAt: now - 2_000 }, { dueAt: now - 1_000 })) as Waiting[]
      const [urgent, third] = (await other.put(
        { dueAt: now, priority: -1 },
        { dueAt: now - 500 },
      )) as Waiting[]
      const lanes = [crowded.id, one.id, other.id]
      const workerId = await aWorker()

      const claimed = await take({ workerId, lanes, limit: 7 })
      const next = await take({ workerId, lanes: [other.id, crowded.id], limit: 1 })

      const ids = idsOf(claimed)
      expect(ids).toEqual(expect.arrayContaining(idsOf([first, second, third, urgent] as Waiting[])))
      expect(ids).toHaveLength(7)
      expect(next).toHaveLength(1)
    })

    test('takes exactly as many runs as its limit, if enough wait', async () => {
      const lane = await aLane()
      await lane.put({ count: 50 })
      const workerId = await aWorker()
      const claim = (limit: number) => take({ workerId, lanes: [lane.id], limit })

      const sizes = [(await claim(7)).length, (await claim(1)).length, (await claim(40)).length]

      expect(sizes).toEqual([7, 1, 40])
      expect(await claim(40)).toHaveLength(2)
      expect(await claim(40)).toEqual([])
    })

    test('takes nothing from lanes it does not name', async () => {
      const [mine, other] = [await aLane(), await aLane()]
      await other.put({})

      expect(await take({ workerId: await aWorker(), lanes: [mine.id], limit: 10 })).toEqual([])
      expect(await take({ workerId: await aWorker(), lanes: [], limit: 10 })).toEqual([])
    })

    test('finds runs that were put after an empty answer', async () => {
      const lane = await aLane()
      const workerId = await aWorker()
      expect(await take({ workerId, lanes: [lane.id], limit: 10 })).toEqual([])

      const runs = await lane.put({ count: 3 })

      expect(idsOf(await take({ workerId, lanes: [lane.id], limit: 10 }))).toEqual(idsOf(runs))
    })

    test('skips runs that were cancelled while they waited, and takes others instead', async () => {
      const lane = await aLane()
      const now = Date.now()
      const doomed = await lane.put({ dueAt: now - 9_000 }, { dueAt: now - 8_000 })
      const others = await lane.put({ count: 2 })
      for (const { taskId } of doomed)
        await db.transaction(async (tx) => {
          await tx.run(lockRuns({ taskId, runId: null }))
          await tx.run(cancelRuns({ taskId, runId: null, nextRunId: uuidv7() }))
        })

      const claimed = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 2 })

      expect(idsOf(claimed)).toEqual(idsOf(others))
    })
  })

  describe('many workers at once', () => {
    test('get each run exactly once, and none gets more than its limit', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 400 })
      const nodes = await Promise.all(
        Array.from({ length: 8 }, async () => ({
          workerId: await aWorker(),
          claim: await rig.connect(db),
        })),
      )
      const claims: ClaimedRun[][] = []

      await Promise.all(
        nodes.map(async ({ workerId, claim }) => {
          // An empty answer that is not short means that nothing waits any more that nobody else is taking.
          for (let isOver = false; !isOver; ) {
            const { runs, isShort } = await claim.claim({ workerId, lanes: [lane.id], limit: 13 })
            claims.push([...runs])
            isOver = runs.length === 0 && !isShort
          }
        }),
      )

      expect(idsOf(claims.flat())).toEqual(idsOf(runs))
      expect(Math.max(...claims.map(({ length }) => length))).toBeLessThanOrEqual(13)
    })

    test('get no run after they were declared dead', async () => {
      const lane = await aLane()
      await lane.put({ count: 200 })
      const workerId = await aWorker()
      let hasBegun = () => {}
      const begun = new Promise<void>((resolve) => {
        hasBegun = resolve
      })

      const claiming = (async () => {
        for (let i = 0; i < 100; i++) {
          await take({ workerId, lanes: [lane.id], limit: 1 })
          hasBegun()
        }
      })()
      await begun
      await db.run(declareDead({ nodeId: workerId, beat: null, reason: 'lost' }))
      await claiming

      const [after] = await db.run(sql<{ claims: number; late: number }>`
        select count(*)::integer as claims, count(*) filter (where a.claimed_at > n.dead_at)::integer as late
        from agenda a join node n on n.id = a.worker_id where n.id = ${workerId}`)
      expect(after?.claims).toBeGreaterThan(0)
      expect(after?.claims).toBeLessThan(100)
      expect(after?.late).toBe(0)
    })
  })

  test('a dead worker claims nothing, and the runs wait for a living one', async () => {
    const lane = await aLane()
    const runs = await lane.put({ count: 5 })
    const [dead, living] = [await aWorker(), await aWorker()]
    await db.run(declareDead({ nodeId: dead, beat: null, reason: 'lost' }))

    expect(await take({ workerId: dead, lanes: [lane.id], limit: 5 })).toEqual([])
    expect(await take({ workerId: uuidv7(), lanes: [lane.id], limit: 5 })).toEqual([])

    expect(idsOf(await take({ workerId: living, lanes: [lane.id], limit: 5 }))).toEqual(idsOf(runs))
  })

  test('runs of a paused queue are in no served lane, and keep waiting', async () => {
    const lane = await aLane()
    const runs = await lane.put({ count: 3 })
    const workerId = await aWorker()
    const pause = (isPaused: boolean) =>
      db.run(setQueuePaused({ projectId: DEFAULT_PROJECT_ID, name: lane.queue, isPaused }))
    const claimServed = async () => {
      const served = (await db.run(servedLanes([]))).map(({ id }) => id)
      const lanes = served.filter((id) => id === lane.id)
      return take({ workerId, lanes, limit: 10 })
    }

    await pause(true)
    expect(await claimServed()).toEqual([])
    await pause(false)

    expect(idsOf(await claimServed())).toEqual(idsOf(runs))
  })
}
