/** What is lost: a lease, a node in the middle of a claim, everything the transport knows. Never a run. */

import { describe, expect, test } from 'vitest'
import type { ClaimedRun } from '../../../src/core/run/claim.ts'
import { endPlainRuns, endRuns } from '../../../src/store/agenda/outcomes.ts'
import { retryRuns } from '../../../src/store/agenda/retries.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { handBackRuns, leasedRuns, reclaimRuns } from '../../../src/store/nodes/leased-runs.ts'
import { declareDead } from '../../../src/store/nodes/nodes.ts'
import { endedRow, liveRow } from '../../support/agenda.ts'
import { type Bench, ending, idsOf, retry, type Waiting } from '../bench.ts'

export function losses({ db, rig, aLane, aGatedLane, aWorker, take, takeGated, forget }: Bench): void {
  describe('a worker that lost its run', () => {
    /** A run that one worker lost and another has. */
    async function aLostRun() {
      const lane = await aLane()
      await lane.put({})
      const [first, second] = [await aWorker(), await aWorker()]
      const [stale] = (await take({ workerId: first, lanes: [lane.id], limit: 1 })) as [ClaimedRun]
      await db.run(declareDead({ nodeId: first, beat: null, reason: 'lost' }))
      await db.run(reclaimRuns([stale]))
      await rig.settled()
      const [held] = (await take({ workerId: second, lanes: [lane.id], limit: 1 })) as [ClaimedRun]
      return { stale, held, workerId: second }
    }

    test('is succeeded by a claim with a higher fence, one more attempt and one more loss', async () => {
      const { stale, held } = await aLostRun()

      expect(held.fence).toBeGreaterThan(stale.fence)
      expect(held).toMatchObject({ runId: stale.runId, attempt: 2, losses: 1 })
    })

    test.each([
      ['end it', (run: ClaimedRun) => db.run(endRuns([ending(run)]))],
      ['end it plainly', (run: ClaimedRun) => db.run(endPlainRuns([ending(run)]))],
      ['fail it', (run: ClaimedRun) => db.run(retryRuns([retry(run)]))],
      ['take it back', (run: ClaimedRun) => db.run(reclaimRuns([run]))],
      ['hand it back', (run: ClaimedRun) => db.run(handBackRuns([run]))],
    ])('cannot %s, and the new owner can', async (_, write) => {
      const { stale, held, workerId } = await aLostRun()
      const before = await liveRow(db, held.runId)

      await write(stale)

      expect(await liveRow(db, held.runId)).toEqual(before)
      expect(before).toMatchObject({ state: 'running', workerId, fence: held.fence })
      expect(await endedRow(db, held.runId)).toBeUndefined()
      await write(held)
      expect(await liveRow(db, held.runId)).not.toEqual(before)
    })
  })

  test('a run that was cancelled while it was reclaimed is marked as cancelled in its next claim', async () => {
    const lane = await aLane()
    const [run] = (await lane.put({})) as [Waiting]
    const first = await aWorker()
    const [lost] = (await take({ workerId: first, lanes: [lane.id], limit: 1 })) as [ClaimedRun]
    await db.run(sql`update agenda set cancel_at = now() where run_id = ${run.runId}`)
    await db.run(reclaimRuns([lost]))
    await rig.settled()

    const [claimed] = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 1 })

    expect(lost.isCancelled ?? false).toBe(false)
    expect(claimed).toMatchObject({ runId: run.runId, isCancelled: true })
  })

  describe('a crash', () => {
    const crash = new Error('the node died')

    test('before a claim commits leaves its runs to other workers', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 10 })
      const workerId = await aWorker()

      await expect(
        db.transaction(async (tx) => {
          const dying = await rig.connect(tx)
          expect(await take({ workerId, lanes: [lane.id], limit: 4 }, dying)).toHaveLength(4)
          throw crash
        }),
      ).rejects.toBe(crash)
      await rig.settled()

      const claimed = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 20 })
      expect(idsOf(claimed)).toEqual(idsOf(runs))
      expect(claimed.map(({ attempt }) => attempt)).toEqual(runs.map(() => 1))
    })

    test('before a claim behind a gate commits leaves its slots to other workers', async () => {
      const lane = await aGatedLane(2)
      const runs = await lane.put({ count: 2 })
      const workerId = await aWorker()

      await expect(
        db.transaction(async (tx) => {
          const dying = await rig.connect(tx)
          expect(await takeGated({ workerId, lanes: [lane.id], limit: 4 }, dying)).toHaveLength(2)
          throw crash
        }),
      ).rejects.toBe(crash)
      await rig.settled()

      const again = { workerId: await aWorker(), lanes: [lane.id], limit: 4 }
      expect(idsOf(await takeGated(again))).toEqual(idsOf(runs))
    })

    test('between a claim and its answer is detected by the rows alone, and costs no attempt', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 4 })
      const workerId = await aWorker()
      await take({ workerId, lanes: [lane.id], limit: 10 })

      const unheard = await db.run(leasedRuns({ nodeId: workerId, claimedBefore: Date.now() + 60_000 }))
      await db.run(handBackRuns(unheard))
      await rig.settled()

      expect(idsOf(unheard)).toEqual(idsOf(runs))
      const claimed = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 10 })
      expect(idsOf(claimed)).toEqual(idsOf(runs))
      expect(claimed.map(({ attempt, losses }) => ({ attempt, losses }))).toEqual(
        runs.map(() => ({ attempt: 1, losses: 0 })),
      )
    })
  })

  test('a transport that loses its state loses no run and gives none out twice', async () => {
    const lane = await aLane()
    const behindGate = await aGatedLane(3)
    const [open, keyed] = [await lane.put({ count: 60 }), await behindGate.put({ count: 6 })]
    const workerId = await aWorker()
    const before = await take({ workerId, lanes: [lane.id], limit: 20 })
    const heldBefore = await takeGated({ workerId, lanes: [behindGate.id], limit: 2 })

    await forget()

    const after = await take({ workerId, lanes: [lane.id], limit: 100 })
    const heldAfter = await takeGated({ workerId, lanes: [behindGate.id], limit: 100 })
    expect([before.length, after.length]).toEqual([20, 40])
    expect(idsOf([...before, ...after])).toEqual(idsOf(open))
    expect([heldBefore.length, heldAfter.length]).toEqual([2, 1])
    const held = [...heldBefore, ...heldAfter]
    expect(new Set(idsOf(held)).size).toBe(3)
    expect(idsOf(keyed)).toEqual(expect.arrayContaining(idsOf(held)))
  })
}
