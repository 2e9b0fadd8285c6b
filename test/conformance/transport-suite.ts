/**
 * What a transport is. Every implementation of src/transport/transport.ts passes all of this, unchanged: the
 * suite makes runs wait by firing them, asks the transport for them, and looks at the live rows, which are the
 * truth whatever carries runs. It never looks at what the transport itself keeps.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { laneOf } from '../../src/core/lane.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/project.ts'
import type { TaskDefinition } from '../../src/core/task.ts'
import { fireAsTheyAre } from '../../src/store/agenda.ts'
import { Database, type Queryable } from '../../src/store/database.ts'
import { setQueueLimit } from '../../src/store/gates.ts'
import { declareDead, handBackRuns, heldRuns, reclaimRuns } from '../../src/store/nodes.ts'
import { type Ending, endPlainRuns, endRuns, type Retry, retryRuns } from '../../src/store/outcomes.ts'
import { registerLanes, servedLanes, setQueuePaused } from '../../src/store/queues.ts'
import { sql } from '../../src/store/sql.ts'
import { cancelRuns, lockRuns } from '../../src/store/task-changes.ts'
import type { ClaimedRun, ClaimRequest, Transport } from '../../src/transport/transport.ts'
import { aDefinition, aNode, dueRow, endedRow, liveRow, ownShards, tasksInAgenda } from '../support/agenda.ts'
import { makeDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

/** One kind of transport, over a database of the suite's own. */
export interface Rig {
  /** The transport as a node has it; each call makes another node's. What it writes goes through `db`. */
  connect(db: Queryable): Promise<Transport>
  /** Resolves when all that waits can be claimed: a transport that has to look for itself has looked. */
  settled(): Promise<void>
  /** Loses everything that is not in PostgreSQL, at once and without warning. */
  forget(): Promise<void>
  stop(): Promise<void>
}

interface Waiting {
  readonly runId: string
  readonly taskId: string
}

const MAX_CONNECTIONS = 12

/** All connections work, also those that somebody else has cut. */
const isReachable = (db: Database) =>
  Promise.all(Array.from({ length: MAX_CONNECTIONS }, () => db.run(sql`select pg_sleep(0.01)`))).then(
    () => true,
    () => false,
  )

export function transportSuite(name: string, startRig: (databaseUrl: string) => Promise<Rig>): void {
  describe(`the ${name} transport`, () => {
    let db: Database
    let rig: Rig
    let transport: Transport
    let stop = async () => {}
    let queues = 0

    beforeAll(async () => {
      const { url, drop } = await makeDatabase()
      db = new Database({
        ...{
          url,
          applicationName: 'belfry test',
          maxConnections: MAX_CONNECTIONS,
          statementTimeoutMs: 30_000,
        },
        favourIndexes: true,
      })
      rig = await startRig(url)
      transport = await rig.connect(db)
      stop = async () => {
        await rig.stop()
        await db.close()
        await drop()
      }
    })
    afterAll(() => stop())

    /** A lane that no other test uses, and tasks whose runs wait in it. */
    async function aLane(about: Partial<TaskDefinition> = {}) {
      const definition = { queue: `queue-${queues++}`, ...about }
      const lane = laneOf(DEFAULT_PROJECT_ID, aDefinition(definition))
      await db.run(registerLanes([lane]))
      const schedulerId = await aNode(db, ['scheduler'])
      /** Runs that are due and found no room, in the order in which they are given. */
      const put = async (
        ...runs: { dueAt?: number; priority?: number; count?: number }[]
      ): Promise<Waiting[]> => {
        const tasks = []
        for (const { priority = 0, ...run } of runs)
          tasks.push(...(await tasksInAgenda(db, { ...run, definition: { ...definition, priority } })))
        const shards = await ownShards(db, schedulerId)
        const rows = await Promise.all(tasks.map(({ runId }) => dueRow(db, runId)))
        await db.run(fireAsTheyAre({ nodeId: schedulerId, shards, workerId: null, rows }))
        await rig.settled()
        return tasks
      }
      return { id: lane.id, queue: definition.queue, put }
    }

    const take = async (request: ClaimRequest, from = transport) => [...(await from.claim(request)).runs]
    const takeGated = async (request: ClaimRequest, from = transport) => [
      ...(await from.claimGated(request)).runs,
    ]
    const idsOf = (runs: readonly { runId: string }[]) => runs.map(({ runId }) => runId).sort()
    const aWorker = () => aNode(db, ['worker'])

    const ending = ({
      runId,
      fence,
    }: Pick<ClaimedRun, 'runId' | 'fence'>): Ending & { startedAt: number } => ({
      ...{
        runId,
        fence,
        state: 'completed',
        outcome: 'completed',
        startedAt: Date.now(),
        endedAt: Date.now(),
      },
      ...{ output: null, error: null, heirId: null },
    })
    const retry = ({ runId, fence }: ClaimedRun): Retry => ({
      ...{ runId, fence, outcome: 'failed', startedAt: Date.now(), endedAt: Date.now(), retryAt: Date.now() },
      ...{ output: null, error: { code: 'x', message: 'x' } },
    })

    describe('a claim', () => {
      test('is granted by the live row: running, in the name of the worker, with a new fence', async () => {
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

      test('says for which instant the run is', async () => {
        const lane = await aLane()
        const dueAt = Date.now() - 12_345
        await lane.put({ dueAt })

        const [claimed] = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 1 })

        expect(claimed?.scheduledFor).toBe(dueAt)
      })

      test('takes what has the smallest priority number first, and of these what was due first', async () => {
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

      test('takes the best over all its lanes, not the best of each', async () => {
        const [one, other] = [await aLane(), await aLane()]
        const now = Date.now()
        const [first] = await one.put({ dueAt: now - 9_000 }, { dueAt: now - 2_000 })
        const [second] = await other.put({ dueAt: now - 8_000 }, { dueAt: now - 1_000 })

        const claimed = await take({
          ...{ workerId: await aWorker(), lanes: [other.id, one.id], limit: 2 },
        })

        expect(idsOf(claimed)).toEqual(idsOf([first, second] as Waiting[]))
      })

      test('takes exactly as many as it may, and no fewer when there are enough', async () => {
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

      test('finds what came to wait after an empty answer', async () => {
        const lane = await aLane()
        const workerId = await aWorker()
        expect(await take({ workerId, lanes: [lane.id], limit: 10 })).toEqual([])

        const runs = await lane.put({ count: 3 })

        expect(idsOf(await take({ workerId, lanes: [lane.id], limit: 10 }))).toEqual(idsOf(runs))
      })

      test('passes over what was cancelled while it waited, and takes as many others', async () => {
        const lane = await aLane()
        const now = Date.now()
        const doomed = await lane.put({ dueAt: now - 9_000 }, { dueAt: now - 8_000 })
        const others = await lane.put({ count: 2 })
        for (const { taskId } of doomed)
          await db.transaction(async (tx) => {
            await tx.run(lockRuns({ taskId, runId: null }))
            await tx.run(cancelRuns({ taskId, runId: null, heirId: uuidv7() }))
          })

        const claimed = await take({ workerId: await aWorker(), lanes: [lane.id], limit: 2 })

        expect(idsOf(claimed)).toEqual(idsOf(others))
      })
    })

    describe('many workers at once', () => {
      test('get each run exactly once, and none gets more than it may', async () => {
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

      test('that have died meanwhile got nothing after their death', async () => {
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

    test('a dead worker takes nothing, and what it wanted waits for a living one', async () => {
      const lane = await aLane()
      const runs = await lane.put({ count: 5 })
      const [dead, living] = [await aWorker(), await aWorker()]
      await db.run(declareDead({ nodeId: dead, beat: null, reason: 'lost' }))

      expect(await take({ workerId: dead, lanes: [lane.id], limit: 5 })).toEqual([])
      expect(await take({ workerId: uuidv7(), lanes: [lane.id], limit: 5 })).toEqual([])

      expect(idsOf(await take({ workerId: living, lanes: [lane.id], limit: 5 }))).toEqual(idsOf(runs))
    })

    test('what waits in a paused queue goes to nobody who asks which lanes to serve, and waits on', async () => {
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

    describe('behind a gate', () => {
      const gated = (places: number) => aLane({ concurrencyKey: `key-${queues}`, concurrencyLimit: places })

      test('no more runs are taken than there are free places, whoever asks', async () => {
        const lane = await gated(3)
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

      test('with one place they go in strict order, by priority and then by when they were due', async () => {
        const lane = await gated(1)
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

      test('the limit of the one who asks holds over all gates', async () => {
        const [one, other] = [await gated(5), await gated(5)]
        await one.put({ count: 4 })
        await other.put({ count: 4 })
        const workerId = await aWorker()
        const claim = () => takeGated({ workerId, lanes: [one.id, other.id], limit: 5 })

        expect([(await claim()).length, (await claim()).length, (await claim()).length]).toEqual([5, 3, 0])
      })

      test('a dead worker takes nothing', async () => {
        const lane = await gated(2)
        await lane.put({ count: 2 })
        const dead = await aWorker()
        await db.run(declareDead({ nodeId: dead, beat: null, reason: 'lost' }))

        expect(await takeGated({ workerId: dead, lanes: [lane.id], limit: 5 })).toEqual([])
        expect(await takeGated({ workerId: await aWorker(), lanes: [lane.id], limit: 5 })).toHaveLength(2)
      })

      test.each([
        ['ends', (run: ClaimedRun) => db.run(endRuns([ending(run)]))],
        ['waits for its retry', (run: ClaimedRun) => db.run(retryRuns([retry(run)]))],
      ])('a place is free again when its run %s, and only once', async (_, giveUp) => {
        const lane = await gated(1)
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
      ])('a run that %s is the first in line again, for the same place', async (_, giveBack) => {
        const lane = await gated(1)
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

    describe('of a queue with a limit', () => {
      /** A queue, a lane of it without a key and one with. */
      async function aLimitedQueue(limit: number) {
        const open = await aLane()
        const keyed = await aLane({ queue: open.queue, concurrencyKey: 'key', concurrencyLimit: 5 })
        await db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: open.queue, limit }))
        return { open, keyed, lanes: [open.id, keyed.id] }
      }

      test('no more runs are taken than it has places, over all its lanes and whoever asks', async () => {
        const { open, keyed, lanes } = await aLimitedQueue(4)
        const runs = [...(await open.put({ count: 10 })), ...(await keyed.put({ count: 10 }))]
        const workers = await Promise.all(Array.from({ length: 5 }, aWorker))
        const done: string[] = []

        for (let round = 0; done.length < runs.length; round++) {
          expect(round).toBeLessThan(20)
          const claims = await Promise.all(
            workers.map((workerId) => takeGated({ workerId, lanes, limit: 10 })),
          )
          const claimed = claims.flat()
          expect(claimed.length).toBeGreaterThan(0)
          expect(claimed.length).toBeLessThanOrEqual(4)
          await db.run(endRuns(claimed.map(ending)))
          done.push(...idsOf(claimed))
        }

        expect(done.sort()).toEqual(idsOf(runs))
      })

      test('the best of all its lanes go first', async () => {
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

      test('a claim that comes late takes nothing of its lane that stands behind the next of another', async () => {
        const { open, keyed } = await aLimitedQueue(1)
        const now = Date.now()
        const [first, third] = (await open.put({ dueAt: now - 9_000 }, { dueAt: now - 7_000 })) as Waiting[]
        await keyed.put({ dueAt: now - 8_000 })
        const upTo = new Map([[open.id, { priority: 0, wakeAt: new Date(now - 8_000).toISOString() }]])
        const claim = async () =>
          transport.claimGated({ workerId: await aWorker(), lanes: [open.id], limit: 1, upTo })

        const inTime = await claim()
        await db.run(endRuns(inTime.runs.map(ending)))
        const late = await claim()

        expect(idsOf(inTime.runs)).toEqual([first?.runId])
        expect(late).toEqual({ runs: [], isShort: true })
        upTo.clear()
        expect(idsOf((await claim()).runs)).toEqual([third?.runId])
      })

      test('a run that is taken back gives up both its places', async () => {
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

    describe('who no longer holds a run', () => {
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

      test('finds a higher fence on it, one more attempt and one more loss', async () => {
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
      ])('cannot %s, and the holder can', async (_, write) => {
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

    test('a run that was cancelled while it was taken back says so to whoever claims it', async () => {
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
      test('before a claim is committed leaves the runs to others', async () => {
        const lane = await aLane()
        const runs = await lane.put({ count: 10 })
        const workerId = await aWorker()
        const crash = new Error('the node died')

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

      test('before a claim behind a gate is committed leaves its places to others', async () => {
        const lane = await aLane({ concurrencyKey: `key-${queues}`, concurrencyLimit: 2 })
        const runs = await lane.put({ count: 2 })
        const workerId = await aWorker()

        await db
          .transaction(async (tx) => {
            await takeGated({ workerId, lanes: [lane.id], limit: 4 }, await rig.connect(tx))
            throw new Error('the node died')
          })
          .catch(() => {})
        await rig.settled()

        const again = { workerId: await aWorker(), lanes: [lane.id], limit: 4 }
        expect(idsOf(await takeGated(again))).toEqual(idsOf(runs))
      })

      test('between a claim and its answer is found by the rows alone, and costs no attempt', async () => {
        const lane = await aLane()
        const runs = await lane.put({ count: 4 })
        const workerId = await aWorker()
        await take({ workerId, lanes: [lane.id], limit: 10 })

        const unheard = await db.run(heldRuns({ nodeId: workerId, claimedBefore: Date.now() + 60_000 }))
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

    test('a transport that forgets everything loses nothing and gives nothing out twice', async () => {
      const lane = await aLane()
      const behindGate = await aLane({ concurrencyKey: `key-${queues}`, concurrencyLimit: 3 })
      const [open, gated] = [await lane.put({ count: 60 }), await behindGate.put({ count: 6 })]
      const workerId = await aWorker()
      const before = await take({ workerId, lanes: [lane.id], limit: 20 })
      const heldBefore = await takeGated({ workerId, lanes: [behindGate.id], limit: 2 })

      await rig.forget()
      await eventually(() => isReachable(db))
      transport = await rig.connect(db)
      await rig.settled()

      const after = await take({ workerId, lanes: [lane.id], limit: 100 })
      const heldAfter = await takeGated({ workerId, lanes: [behindGate.id], limit: 100 })
      expect([before.length, after.length]).toEqual([20, 40])
      expect(idsOf([...before, ...after])).toEqual(idsOf(open))
      expect([heldBefore.length, heldAfter.length]).toEqual([2, 1])
      const held = [...heldBefore, ...heldAfter]
      expect(new Set(idsOf(held)).size).toBe(3)
      expect(idsOf(gated)).toEqual(expect.arrayContaining(idsOf(held)))
    })
  })
}
