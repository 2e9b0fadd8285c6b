import { expect, test } from 'vitest'
import { aNode, dueRow, ownShards, tasksInAgenda } from '../../test/support/agenda.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { gatesOf } from '../../test/support/limits.ts'
import { DEFAULT_LANES } from '../core/run/lane.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { firePlain } from '../store/agenda/fire-plain.ts'
import { handBackRuns } from '../store/nodes/leased-runs.ts'
import { setQueueLimit } from '../store/queues/queue-limits.ts'
import { ServedLanes } from './served-lanes.ts'

const { db } = await createTestDatabase()
const workerId = await aNode(db)
const limitDefault = (limit: number | null) =>
  db.run(setQueueLimit({ projectId: DEFAULT_PROJECT_ID, name: 'default', limit }))
const defaultGate = async () => (await gatesOf(db)).find(({ queue }) => queue === 'default')

/** A run that was fired straight into the worker. */
async function aStartedRun() {
  const [task] = await tasksInAgenda(db)
  const runId = task?.runId as string
  const nodeId = await aNode(db, ['scheduler'])
  const row = await dueRow(db, runId)
  await db.run(firePlain({ nodeId, shards: await ownShards(db, nodeId), workerId, rows: [row] }))
  return { runId, fence: row.fence + 1 }
}

test('a lane of a limited queue is not served until the limit is lifted', async () => {
  const lanes = new ServedLanes({ workerId, db, labels: () => [] })
  const served = async () => {
    lanes.forget()
    await lanes.refresh(() => [])
    return [lanes.serves(DEFAULT_LANES.open), lanes.serves(DEFAULT_LANES.strict)]
  }

  expect(await served()).toEqual(['ahead', 'free'])
  await limitDefault(3)
  expect(await served()).toEqual([undefined, undefined])
  await limitDefault(null)
  expect(await served()).toEqual(['ahead', 'free'])
})

test('a run that started before its worker noticed a limit is counted afterwards, exactly once', async () => {
  const lanes = new ServedLanes({ workerId, db, labels: () => [] })
  await lanes.refresh(() => [])
  await limitDefault(3)
  const early = await aStartedRun()
  expect(await defaultGate()).toMatchObject({ places: 3, held: 0 })

  lanes.forget()
  await lanes.refresh(() => [early.runId])
  expect(await defaultGate()).toMatchObject({ held: 1, holders: 1 })

  // A fire that was under way at that moment is answered a little later.
  const late = await aStartedRun()
  lanes.forget()
  await lanes.refresh(() => [early.runId, late.runId])
  expect(await defaultGate()).toMatchObject({ held: 2, holders: 2 })

  await db.run(handBackRuns([early, late]))
  expect(await defaultGate()).toMatchObject({ held: 0, holders: 0 })
})
