/** Putting: what is in line can be claimed once, and only while its run is pending. */
import { describe, expect, test } from 'vitest'
import { uuidv7 } from '../../../src/core/ids.ts'
import { sideLaneOf } from '../../../src/core/run/lane.ts'
import { endRuns } from '../../../src/store/agenda/outcomes.ts'
import { cancelRuns, lockRuns } from '../../../src/store/tasks/cancel.ts'
import { type Bench, ending, idsOf } from '../bench.ts'

export function puts({
  db,
  rig,
  aLane,
  aGatedLane,
  aWorker,
  take,
  takeGated,
  put,
  leaveSideLanes,
  drop,
}: Bench): void {
  describe('a run that is put', () => {
    test('can be claimed again after the transport forgot it', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 3 })
      await drop(runs)
      const workerId = await aWorker()
      expect(await take({ workerId, lanes: [lane.id], limit: 10 })).toEqual([])

      const restored = await put(runs.map(({ runId }) => runId))
      await rig.settled()

      expect(idsOf(restored)).toEqual(idsOf(runs))
      expect(idsOf(await take({ workerId, lanes: [lane.id], limit: 10 }))).toEqual(idsOf(runs))
    })

    test('several times and concurrently is claimed once', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 5 })
      await drop(runs)
      const ids = runs.map(({ runId }) => runId)

      await Promise.all(Array.from({ length: 4 }, () => put(ids)))
      await put(ids)
      await rig.settled()

      const workers = await Promise.all([aWorker(), aWorker()])
      const claims = await Promise.all(
        workers.map((workerId) => take({ workerId, lanes: [lane.id], limit: 100 })),
      )
      const again = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 100 })
      expect(idsOf([...claims.flat(), ...again])).toEqual(idsOf(runs))
    })

    test('while it is already waiting is left unchanged and not returned', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 2 })

      expect(await put(runs.map(({ runId }) => runId))).toEqual([])
    })

    test('while it is running, or after its end, cannot be claimed', async () => {
      const lane = await aLane()
      await lane.put({ count: 2 })
      const workerId = await aWorker()
      const [running, ended] = await take({ workerId, lanes: [lane.id], limit: 2 })
      if (!running || !ended) throw new Error('both runs must be claimed')
      await db.run(endRuns([ending(ended)]))

      expect(await put([running.runId, ended.runId])).toEqual([])
      await rig.settled()

      expect(await take({ workerId: await aWorker(), lanes: [lane.id], limit: 10 })).toEqual([])
    })

    test('is withdrawn when it is cancelled', async () => {
      const lane = await aLane()
      const [kept, cancelled] = await lane.put({ count: 2 })
      if (!kept || !cancelled) throw new Error('both runs must wait')
      await db.transaction(async (tx) => {
        await tx.run(lockRuns({ taskId: cancelled.taskId, runId: cancelled.runId }))
        await tx.run(cancelRuns({ taskId: cancelled.taskId, runId: cancelled.runId, nextRunId: uuidv7() }))
      })
      await rig.settled()

      const claimed = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 10 })
      expect(idsOf(claimed)).toEqual([kept.runId])
    })

    test('behind a gate waits for its slot', async () => {
      const lane = await aGatedLane(1)
      const runs = await lane.put({ count: 2 })
      await drop(runs)
      const workerId = await aWorker()

      await put(runs.map(({ runId }) => runId))
      await rig.settled()

      expect(await takeGated({ workerId, lanes: [lane.id], limit: 10 })).toHaveLength(1)
      expect(await takeGated({ workerId, lanes: [lane.id], limit: 10 })).toEqual([])
    })
  })

  describe('a run in a side lane', () => {
    test('that no longer exists returns to its own lane, and one in another side lane stays', async () => {
      const lane = await aLane()
      const [gone, kept] = ['gone', 'kept'].map((line) => sideLaneOf(lane.id, line).id) as [number, number]
      const stranded = await lane.put({ side: gone })
      const others = await lane.put({ side: kept })

      const moved = await leaveSideLanes([gone], 10)
      await rig.settled()

      const workerId = await aWorker()
      expect(idsOf(moved)).toEqual(idsOf(stranded))
      expect(idsOf(await take({ workerId, lanes: [lane.id], limit: 10 }))).toEqual(idsOf(stranded))
      expect(idsOf(await take({ workerId, lanes: [kept], limit: 10 }))).toEqual(idsOf(others))
    })

    test('that was claimed meanwhile is not moved', async () => {
      const lane = await aLane()
      const side = sideLaneOf(lane.id, 'claimed').id
      await lane.put({ side })
      expect(await take({ workerId: await aWorker(), lanes: [side], limit: 1 })).toHaveLength(1)

      expect(await leaveSideLanes([side], 10)).toEqual([])
    })
  })
}
