/** Removing unused queues over real tables: what goes, what protects a queue, and who uses one meanwhile. */

import { beforeEach, expect, test } from 'vitest'
import { aDefinition, aNode, tasksInAgenda } from '../../test/support/agenda.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { uuidv7 } from '../core/ids.ts'
import { laneOf } from '../core/run/lane.ts'
import type { TaskDefinition } from '../core/task/task.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../core/values/default-project.ts'
import { sql } from '../store/database/sql.ts'
import { setQueueLimit } from '../store/queues/queue-limits.ts'
import { makeQueue, registerLanes, setQueuePaused } from '../store/queues/queues.ts'
import { lockUnusedQueues, removeGates, removeLanes, removeQueues } from '../store/queues/unused-queues.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { LaneRegistry } from '../transport/lane-registry.ts'
import { QueueUse } from './audit/queue-use.ts'
import { UnusedQueues } from './unused-queues.ts'

const { db } = await createTestDatabase()
const use = new QueueUse({ db })
const unused = new UnusedQueues({ db, log: silentLogger(), days: 30 })

const laneIn = (definition: Partial<TaskDefinition>) => laneOf(projectId, aDefinition(definition))
const register = (definition: Partial<TaskDefinition>) => db.run(registerLanes([laneIn(definition)]))
const age = (queue: string, days = 31) =>
  db.run(sql`update queue set used_at = now() - ${days}::integer * interval '1 day' where name = ${queue}`)

async function names(): Promise<string[]> {
  return (await db.run(sql<{ name: string }>`select name from queue order by name`)).map(({ name }) => name)
}

/** A round of the walk, from its beginning to its end. */
async function walk(): Promise<void> {
  await db.run(
    sql`update audit_walk set position = null, began_at = null, round_ended_at = null where name = 'queues'`,
  )
  await eventually(async () => {
    await db.run(sql`update audit_walk set next_pass_at = now() where name = 'queues'`)
    await use.runOnce()
    const [round] = await db.run(sql<{ isOver: boolean }>`
      select round_ended_at is not null as "isOver" from audit_walk where name = 'queues'`)
    return round?.isOver
  })
}

/** A queue with all that can belong to it, unused for 31 days. */
async function anOldQueue(queue: string): Promise<void> {
  await register({ queue })
  await register({ queue, labels: ['gpu'], onWorkerLoss: 'fail' })
  await register({ queue, concurrencyKey: 'customer' })
  await register({ queue, action: { type: 'handler', name: 'resize', payload: null } })
  await age(queue)
}

beforeEach(async () => {
  await db.run(sql`delete from ready`)
  await db.run(sql`delete from agenda`)
  await db.run(sql`delete from task`)
  await db.run(sql`delete from node`)
  await db.run(sql`delete from lane where queue <> 'default'`)
  await db.run(sql`delete from gate where queue <> 'default'`)
  await db.run(sql`delete from queue where name <> 'default'`)
  await db.run(sql`update audit_walk set complete_since = null where name = 'queues'`)
})

test('a queue unused for 31 days is removed with its lanes and gates, and a younger one stays', async () => {
  await anOldQueue('old')
  await anOldQueue('young')
  await age('young', 29)
  await walk()

  await unused.runOnce()

  expect(await names()).toEqual(['default', 'young'])
  expect(
    await db.run(sql`select from lane where queue = 'old' union all select from gate where queue = 'old'`),
  ).toEqual([])
})

test('the default queue stays', async () => {
  await age('default')
  await walk()

  await unused.runOnce()

  expect(await names()).toEqual(['default'])
})

test('no queue is removed when the setting is 0', async () => {
  await anOldQueue('old')
  await walk()

  await new UnusedQueues({ db, log: silentLogger(), days: 0 }).runOnce()

  expect(await names()).toContain('old')
})

/** What keeps a queue, how it comes about after the walk, and how it ends. */
const PROTECTIONS: readonly [
  string,
  (queue: string) => Promise<unknown>,
  (queue: string) => Promise<unknown>,
][] = [
  [
    'it is paused',
    (name) => db.run(setQueuePaused({ projectId, name, isPaused: true })),
    (name) => db.run(setQueuePaused({ projectId, name, isPaused: false })),
  ],
  [
    'it has a limit',
    (name) => db.run(setQueueLimit({ projectId, name, limit: 5 })),
    (name) => db.run(setQueueLimit({ projectId, name, limit: null })),
  ],
  [
    'a place of one of its gates is held',
    (name) => db.run(sql`update gate set held = 1 where queue = ${name} and key is not null`),
    (name) => db.run(sql`update gate set held = 0 where queue = ${name}`),
  ],
  [
    'something waits in one of its lanes',
    (queue) =>
      db.run(
        sql`insert into ready (lane, priority, wake_at, run_id) values (${laneIn({ queue }).id}, 0, now(), ${uuidv7()})`,
      ),
    () => db.run(sql`delete from ready`),
  ],
  [
    'something waits for one of its keys',
    (queue) =>
      db.run(sql`
        insert into ready (lane, priority, wake_at, run_id)
        values (${laneIn({ queue, concurrencyKey: 'customer' }).id}, 0, now(), ${uuidv7()})`),
    () => db.run(sql`delete from ready`),
  ],
  [
    'a node of an older build lives',
    async () => {
      const old = await aNode(db)
      await db.run(sql`update node set renews_queues = false where id = ${old}`)
    },
    () => db.run(sql`update node set dead_at = now(), reason = 'lost'`),
  ],
  [
    'no round of the walk has ended',
    () => db.run(sql`update audit_walk set complete_since = null where name = 'queues'`),
    async () => {},
  ],
  [
    'it was used after the last whole round began',
    () =>
      db.run(sql`update audit_walk set complete_since = now() - interval '32 days' where name = 'queues'`),
    async () => {},
  ],
]

test.each(PROTECTIONS)('a queue stays while %s', async (_, begin, end) => {
  await anOldQueue('kept')
  await walk()
  await begin('kept')

  await unused.runOnce()
  expect(await names()).toContain('kept')

  await end('kept')
  await age('kept')
  await walk()
  await unused.runOnce()
  expect(await names()).not.toContain('kept')
})

test('a remote worker does not count as a node of an older build', async () => {
  await anOldQueue('old')
  await db.run(
    sql`insert into node (id, name, version, roles, concurrency) values (${uuidv7()}, 'theirs', '1', '{remote}', 1)`,
  )
  await walk()

  await unused.runOnce()

  expect(await names()).not.toContain('old')
})

const HOURLY = { type: 'every', interval: '1h' } as const

/** Tasks and runs that a round meets. */
const USES: readonly [string, (queue: string) => Promise<unknown>][] = [
  [
    'a task that recurs names it, whether it has a row or not',
    async (queue) => {
      await tasksInAgenda(db, { definition: { queue, schedule: HOURLY } })
      await db.run(sql`delete from agenda`)
    },
  ],
  [
    'a task that was paused before names it',
    async (queue) => {
      await tasksInAgenda(db, { definition: { queue } })
      await db.run(sql`delete from agenda`)
      await db.run(sql`update task set paused_at = now() - interval '31 days'`)
    },
  ],
  [
    'a one-off that lies ahead waits in one of its lanes',
    (queue) => tasksInAgenda(db, { definition: { queue }, dueAt: Date.now() + 86_400_000 }),
  ],
  [
    'a one-off that lies ahead waits for one of its keys',
    (queue) =>
      tasksInAgenda(db, {
        definition: { queue, concurrencyKey: 'customer' },
        dueAt: Date.now() + 86_400_000,
      }),
  ],
  [
    'a run with an override waits in one of its lanes, whatever its task says',
    async (queue) => {
      await tasksInAgenda(db)
      await db.run(sql`update agenda set lane = ${laneIn({ queue }).id}`)
    },
  ],
]

test.each(USES)('a queue stays when %s', async (_, begin) => {
  await anOldQueue('kept')
  await anOldQueue('other')
  await begin('kept')
  await walk()

  await unused.runOnce()

  expect(await names()).toEqual(['default', 'kept'])
})

test('deleted, cancelled and ended tasks do not keep a queue', async () => {
  await anOldQueue('old')
  const schedule = HOURLY
  const [deleted, cancelled] = await tasksInAgenda(db, { count: 2, definition: { queue: 'old', schedule } })
  await db.run(
    sql`update task set cancelled_at = now() where id in (${deleted?.taskId}, ${cancelled?.taskId})`,
  )
  await db.run(sql`update task set deleted_at = now() where id = ${deleted?.taskId}`)
  await tasksInAgenda(db, { definition: { queue: 'old' } })
  await db.run(sql`delete from agenda`)
  await walk()

  await unused.runOnce()

  expect(await names()).not.toContain('old')
})

test('a task that an older node created after the walk is found in the next round', async () => {
  await anOldQueue('old')
  await walk()
  await tasksInAgenda(db, { definition: { queue: 'old', schedule: HOURLY } })
  const old = await aNode(db)
  await db.run(sql`update node set renews_queues = false, dead_at = now(), reason = 'lost' where id = ${old}`)

  await unused.runOnce()
  await walk()
  await unused.runOnce()

  expect(await names()).toContain('old')
})

test('registering a lane or changing a queue renews the queue', async () => {
  const isRenewed = async () =>
    (await db.run(sql`select from queue where name = 'used' and used_at > now() - interval '1 minute'`))
      .length === 1
  await anOldQueue('used')

  await register({ queue: 'used' })
  expect(await isRenewed()).toBe(true)

  await age('used')
  await db.run(makeQueue({ projectId, name: 'used' }))
  expect(await isRenewed()).toBe(true)
})

test('a node registers a lane again after an hour, and not before', async () => {
  let now = 0
  const lanes = new LaneRegistry(() => now)
  const renewedAfter = async (minutes: number) => {
    now += minutes * 60_000
    await age('remembered')
    await lanes.ensure(db, [laneIn({ queue: 'remembered' })])
    const renewed = await db.run(
      sql`select from queue where name = 'remembered' and used_at > now() - interval '1 day'`,
    )
    return renewed.length === 1
  }

  expect(await renewedAfter(1)).toBe(true)
  expect(await renewedAfter(59)).toBe(false)
  expect(await renewedAfter(2)).toBe(true)
  expect(await renewedAfter(1)).toBe(false)
})

/** Until a statement of somebody else waits for a lock. */
const untilSomebodyWaits = () =>
  eventually(
    async () =>
      (
        await db.run(
          sql`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length > 0,
  )

test('registering a lane waits for the removal of its queue and then creates all of it again', async () => {
  const key = { queue: 'old', concurrencyKey: 'customer' }
  await anOldQueue('old')
  await walk()

  const registered = await db.transaction(async (tx) => {
    const locked = await tx.run(lockUnusedQueues({ days: 30, limit: 100 }))
    const registering = db.run(registerLanes([laneIn({ queue: 'old' }), laneIn(key)]))
    await untilSomebodyWaits()
    await tx.run(removeLanes(locked, 100))
    await tx.run(removeGates(locked, 100))
    expect(await tx.run(removeQueues(locked))).toEqual([{ projectId, name: 'old' }])
    return { registering }
  })
  await registered.registering

  expect(await names()).toContain('old')
  expect(await db.run(sql`select id from lane where queue = 'old'`)).toEqual([
    { id: laneIn({ queue: 'old' }).id },
  ])
  expect(await db.run(sql`select key from gate where queue = 'old' order by key`)).toEqual([
    { key: 'customer' },
    { key: null },
  ])
})

test('a queue whose lane or gate is locked is skipped without waiting', async () => {
  await anOldQueue('registered')
  await anOldQueue('claimed')
  await walk()

  await db.transaction(async (tx) => {
    await tx.run(registerLanes([laneIn({ queue: 'registered', labels: ['new'] })]))
    await tx.run(sql`select from gate where queue = 'claimed' and key is not null for update`)
    await unused.runOnce()
  })

  expect(await names()).toEqual(['claimed', 'default', 'registered'])
})

test('several concurrent nodes remove each queue once', async () => {
  for (let n = 0; n < 20; n++) await anOldQueue(`old-${n}`)
  await walk()

  await Promise.all([unused.runOnce(), unused.runOnce(), unused.runOnce()])

  expect(await names()).toEqual(['default'])
})
