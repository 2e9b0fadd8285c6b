/** More subscriptions than a node delivers to at once: all are served in turn, and projects share the slots. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { formatPosition } from '../../src/core/run/frontier.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { HistoryTail } from '../../src/events/history-tail.ts'
import { Deliverer } from '../../src/events/subscriptions/deliverer.ts'
import { Delivery } from '../../src/events/subscriptions/delivery.ts'
import { HttpClient } from '../../src/outgoing/http-client.ts'
import { UNSIGNED } from '../../src/outgoing/signer.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import {
  type LeasedSubscription,
  leaseSubscriptions,
  unleasedSubscriptions,
} from '../../src/store/events/deliveries.ts'
import { currentPosition } from '../../src/store/history/current-position.ts'
import { insertProject } from '../../src/store/projects/projects.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { whenDone } from '../support/cleanup.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startSink } from '../support/sink.ts'

/** As many as a node delivers to at once. */
const SLOTS = 100
const log = silentLogger()
const clock = { now: () => Date.now() }
const common = { clock, log, userAgent: 'belfry', keys: UNSIGNED, leaseMs: 15_000 }

async function aProject(db: Database, name: string): Promise<string> {
  const [made] = await db.run(insertProject({ id: uuidv7(), name, maxProjects: 100 }))
  return (made as { id: string }).id
}

async function subscribe(db: Database, projectId: string, count: number, url = 'http://127.0.0.1:9/') {
  const position = formatPosition(await currentPosition(db))
  await db.run(sql`
    insert into subscription (id, project_id, url, give_up_after_ms, secret, position)
    select gen_random_uuid(), ${projectId}::uuid, ${url}, 60000, 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', ${position}
    from generate_series(1, ${count}::integer)`)
}

function startDeliverer(db: Database): Deliverer {
  const deliverer = new Deliverer({ ...common, db, canSign: () => true, http: { allowPrivate: true } })
  whenDone(() => deliverer.stop())
  deliverer.start()
  return deliverer
}

const countOf = async (db: Database, projectId: string) => {
  const [counted] = await db.run(sql<{ leased: number; served: number }>`
    select count(*) filter (where holder is not null)::integer as leased, count(*) filter (where fence > 0)::integer as served
    from subscription where project_id = ${projectId}`)
  return counted as { leased: number; served: number }
}

async function aTask(db: Database): Promise<string> {
  const [task] = await tasksInAgenda(db)
  return (task as { taskId: string }).taskId
}

/** A run of a task of the project that has ended. */
const endRun = (db: Database, taskId: string) =>
  db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, started_at, ended_at, version, ordinal, attempt, kind, state, outcome)
    values (${uuidv7()}, ${taskId}, ${DEFAULT_PROJECT_ID}, now(), now(), clock_timestamp(), 1, 1, 1, 'occurrence', 'completed', 'completed')`)

test('a project with a subscription for each slot delays the events of another by a turn only', async () => {
  const { db } = await createTestDatabase()
  const sink = await startSink()
  const loud = await aProject(db, 'loud')
  await subscribe(db, loud, SLOTS)
  startDeliverer(db)
  await eventually(async () => (await countOf(db, loud)).leased === SLOTS)

  await subscribe(db, DEFAULT_PROJECT_ID, 1, sink.url)
  await endRun(db, await aTask(db))

  await eventually(async () => sink.hits.length > 0)
})

test('every subscription is served in turn, and projects share the slots', async () => {
  const { db } = await createTestDatabase()
  const [first, second] = [await aProject(db, 'first'), await aProject(db, 'second')]
  await subscribe(db, first, SLOTS)
  await subscribe(db, second, SLOTS)
  startDeliverer(db)

  await eventually(async () => {
    const counts = [await countOf(db, first), await countOf(db, second)]
    return counts.every(({ served }) => served === SLOTS)
  })
  const [one, two] = [await countOf(db, first), await countOf(db, second)]

  expect(one.leased).toBeLessThanOrEqual(SLOTS / 2)
  expect(two.leased).toBeLessThanOrEqual(SLOTS / 2)
})

test('the subscriptions of an archived project take no slots after a day, and again when it is restored', async () => {
  const { db } = await createTestDatabase()
  const [recent, old] = [await aProject(db, 'recent'), await aProject(db, 'old')]
  await subscribe(db, recent, 1)
  await subscribe(db, old, 1)
  await db.run(sql`
    update project set archived_at = now() - case when id = ${old}::uuid then interval '2 days' else interval '1 minute' end
    where id <> ${DEFAULT_PROJECT_ID}`)
  const unleased = async () => {
    const found = await db.run(unleasedSubscriptions({ limit: 10, except: [], inProgress: [] }))
    return found.map(({ projectId }) => projectId)
  }

  const archived = await unleased()
  await db.run(sql`update project set archived_at = null where id = ${old}`)
  const restored = await unleased()

  expect(archived).toEqual([recent])
  expect(restored.toSorted()).toEqual([recent, old].toSorted())
})

test('what has waited longest is next, even if the clock of the database was set back', async () => {
  const { db } = await createTestDatabase()
  const [few, many] = [await aProject(db, 'few'), await aProject(db, 'many')]
  await subscribe(db, few, 1)
  await subscribe(db, many, 3)
  await db.run(sql`update subscription set leased_until = now() + random() * interval '1 hour'`)
  const rows = await db.run(
    sql<{ id: string }>`select id from subscription where project_id = ${many} order by leased_until`,
  )
  const ids = rows.map(({ id }) => id)
  const unleased = async (inProgress: readonly string[]) => {
    const found = await db.run(unleasedSubscriptions({ limit: 10, except: [], inProgress }))
    return found.map(({ id, projectId }) => (projectId === few ? 'few' : `many ${ids.indexOf(id)}`))
  }

  const ofMany = await unleased([many])
  const ofFew = await unleased([few, few, few])

  expect(ofMany).toEqual(['few', 'many 0', 'many 1', 'many 2'])
  expect(ofFew).toEqual(['many 0', 'many 1', 'many 2', 'few'])
})

test('a delivery whose turn is over completes its page, so that nothing is repeated', async () => {
  const { db } = await createTestDatabase()
  const turn = new AbortController()
  const sink = await startSink(() => {
    turn.abort()
    return { status: 200 }
  })
  await subscribe(db, DEFAULT_PROJECT_ID, 1, sink.url)
  const taskId = await aTask(db)
  for (let i = 0; i < 5; i++) await endRun(db, taskId)
  const waiting = await db.run(unleasedSubscriptions({ limit: 1, except: [], inProgress: [] }))
  const [subscription] = await db.run(leaseSubscriptions({ subscriptions: waiting, leaseMs: 15_000 }))
  const client = new HttpClient({ allowPrivate: true })
  whenDone(() => client.close())

  await new Delivery({
    ...common,
    db,
    client,
    tail: new HistoryTail({ db, log }),
    subscription: subscription as LeasedSubscription,
    leasedAt: performance.now(),
    stopping: new AbortController().signal,
    turnOver: turn.signal,
  }).run()

  expect(sink.hits).toHaveLength(5)
  const [stored] = await db.run(
    sql<{ delivered: number; holder: string | null }>`select delivered, holder from subscription`,
  )
  expect(stored).toEqual({ delivered: 5, holder: null })
})
