/** Claims that wait at a node with many others: how much is read for others before one is made. */
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { failingDatabase } from '../../test/support/failing-database.ts'
import { startTestNode } from '../../test/support/node.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../core/values/default-project.ts'
import { sql } from '../store/database/sql.ts'
import { insertRemoteWorker } from '../store/nodes/remote-workers.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { PostgresTransport } from '../transport/postgres/postgres-transport.ts'
import { LocalWakeUps } from '../transport/wake-ups.ts'
import { WaitingClaims } from './waiting-claims.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { leaseMs: 600_000 })
const OFFERS = 50
/** Far fewer than there are offers. */
const MOST_LOOKS = 20

async function aWorker(projectId: string, handler: string) {
  const worker = {
    id: uuidv7(),
    name: handler,
    projectId,
    handlers: [handler],
    labels: [],
    queues: null,
    keyId: null,
  }
  const row = { ...worker, tokenHash: Buffer.alloc(32) }
  await db.run(insertRemoteWorker({ version: '0', concurrency: 1 }, row, { all: 1_000, ofProject: 1_000 }))
  return worker
}

/** Waiting claims that look only when told to, and the number of looks for runs so far. */
function waitingClaims() {
  const looks = { count: 0 }
  const counting = failingDatabase(db, (text) => {
    if (text.includes('recursive occupied')) looks.count++
    return undefined
  })
  const claims = new WaitingClaims({
    db: counting,
    transportOn: (queryable) => new PostgresTransport(queryable),
    wakeUps: new LocalWakeUps(),
    log: silentLogger(),
    labelsOf: ({ labels }) => labels,
    everyMs: 60_000,
  })
  const answers: Promise<unknown>[] = []
  onTestFinished(async () => {
    claims.dismissAll()
    await Promise.all(answers)
  })
  /** Resolves when the claim waits. */
  const wait = async (worker: Awaited<ReturnType<typeof aWorker>>) => {
    const { signal } = new AbortController()
    const waits = new Promise<void>((resolve) => {
      const add = signal.addEventListener.bind(signal)
      signal.addEventListener = (...args: Parameters<typeof add>) => {
        add(...args)
        resolve()
      }
    })
    const runs = claims.claim(worker, { requestId: randomUUID(), limit: 1, waitMs: 30_000 }, signal)
    answers.push(runs)
    await waits
    return { runs }
  }
  return { claims, looks, wait }
}

test('many offers of one project do not delay a claim of another project, and all get their look', async () => {
  const large = uuidv7()
  await db.run(sql`insert into project (id, name) values (${large}, 'large')`)
  const { claims, looks, wait } = waitingClaims()
  for (let n = 0; n < OFFERS; n++) await wait(await aWorker(large, `handler-${n}`))
  const { body: task } = await node.request('POST', '/v1/tasks', {
    action: { type: 'handler', name: 'small' },
  })
  await eventually(
    async () => (await node.request('GET', `/v1/tasks/${task.id}`)).body.openRun?.state === 'pending',
  )
  const { runs } = await wait(await aWorker(DEFAULT_PROJECT_ID, 'small'))

  const next = await claims.runOnce()
  const looksOfFirstPass = looks.count
  const [run] = await runs
  let passes = 1
  for (let again = next; again === 0; passes++) again = await claims.runOnce()

  expect(run).toMatchObject({ taskId: task.id })
  expect(looksOfFirstPass).toBeLessThanOrEqual(MOST_LOOKS)
  expect({ passes, looks: looks.count }).toEqual({ passes: 3, looks: OFFERS + 1 })
})
