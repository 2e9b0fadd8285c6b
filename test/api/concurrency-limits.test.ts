/** The limits of concurrency keys, on two nodes that serve the API: those hold that were set last, and only by what was stored. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const one = await createTestApp(database)
const other = await createTestApp(database)

const noop = { type: 'sleep', duration: '0s' }
const hourly = { type: 'every', interval: '1h' }

/** Connections that wait for somebody's lock. */
const BLOCKED = sql`
  select pid from pg_stat_activity
  where datname = current_database() and cardinality(pg_blocking_pids(pid)) > 0`

let keys = 0
/** Tasks with a concurrency key of their own. */
const aKey = () => {
  keys += 1
  const concurrencyKey = `customer-${keys}`
  return {
    concurrencyKey,
    limitedTo: (concurrencyLimit: number, more: object = {}) => ({
      ...{ action: noop, schedule: hourly, concurrencyKey, concurrencyLimit, ...more },
    }),
    limits: () =>
      db.run(
        sql<{
          places: number
          rate: string | null
        }>`select places, rate from gate where key = ${concurrencyKey}`,
      ),
  }
}

const created = async (app: typeof one, task: object) => {
  const { status, body } = await app.send('POST', '/v1/tasks', task)
  expect(status).toBe(201)
  return body
}
const queues = async () => {
  const rows = await db.run(sql<{ name: string }>`select name from queue order by name`)
  return rows.map(({ name }) => name)
}

test('a node can reset a limit that another node has changed', async () => {
  const { limitedTo, limits } = aKey()
  const task = await created(one, limitedTo(1))
  const patch = (app: typeof one, fields: object) => app.send('PATCH', `/v1/tasks/${task.id}`, fields)
  const seen: unknown[] = []
  const look = async () => seen.push(...(await limits()))

  await patch(other, { concurrencyLimit: 5 })
  await look()
  await patch(one, { concurrencyLimit: 1 })
  await look()
  await created(other, limitedTo(7, { concurrencyRate: '10/s' }))
  await look()
  await created(one, limitedTo(1))
  await look()
  await other.send('POST', '/v1/tasks/bulk', { tasks: [limitedTo(3), limitedTo(4)] })
  await look()

  expect(seen).toEqual([
    { places: 5, rate: null },
    { places: 1, rate: null },
    { places: 7, rate: '10/s' },
    { places: 1, rate: null },
    { places: 4, rate: null },
  ])
})

test('tasks that are refused change no limit, and make no queue', async () => {
  const { limitedTo, limits } = aKey()
  await created(one, limitedTo(2, { key: 'taken' }))
  const before = await queues()

  const refused = [
    await one.send('POST', '/v1/tasks', limitedTo(9, { key: 'taken' })),
    await other.send('POST', '/v1/tasks', limitedTo(9, { key: 'taken' })),
    await one.send('POST', '/v1/tasks/bulk', { tasks: [limitedTo(9), limitedTo(9, { key: 'taken' })] }),
    await one.send('POST', '/v1/tasks', limitedTo(9, { key: 'taken', queue: 'never' })),
    await one.send('POST', '/v1/tasks', { action: noop, key: 'taken', queue: 'never' }),
  ]

  expect(refused.map(({ status, body }) => [status, body.code])).toEqual(Array(5).fill([409, 'key_in_use']))
  expect(await limits()).toEqual([{ places: 2, rate: null }])
  expect(await queues()).toEqual(before)
})

test('a trigger does not change the limit that another task has set', async () => {
  const { limitedTo, limits } = aKey()
  const task = await created(one, limitedTo(5))
  await created(other, limitedTo(2))

  const triggered = [
    await one.send('POST', `/v1/tasks/${task.id}/trigger`),
    await other.send('POST', `/v1/tasks/${task.id}/trigger`, { overlap: 'allow' }),
  ]

  expect(triggered.map(({ status }) => status)).toEqual([201, 201])
  expect(await limits()).toEqual([{ places: 2, rate: null }])
})

test('a task that keeps its limit does not wait for the lock of the gate, and one without a key needs no gate', async () => {
  const { concurrencyKey, limitedTo } = aKey()
  await created(one, limitedTo(2))
  // Behind a balancer there are two nodes, and each registers a lane once.
  for (let i = 0; i < 2; i++) await created(other, { action: noop, schedule: hourly })

  await db.transaction(async (tx) => {
    await tx.run(sql`select from gate where key = ${concurrencyKey} for update`)
    await tx.run(sql`select from queue for update`)
    await created(other, limitedTo(2))
    await other.send('POST', '/v1/tasks/bulk', { tasks: [limitedTo(2)] })
    await tx.run(sql`lock table gate, queue, lane`)
    await created(other, { action: noop, schedule: hourly })
  })
})

test('an edit of a limit gives way to a claim that waits for a run of the task', async () => {
  const { concurrencyKey, limitedTo, limits } = aKey()
  const { id } = await created(one, limitedTo(2, { schedule: { type: 'delay', interval: '1h' } }))
  await db.run(sql`update agenda set state = 'pending' where task_id = ${id}`)

  const edit = await db.transaction(async (claim) => {
    await claim.run(sql`set local deadlock_timeout = '500ms'`)
    await claim.run(sql`select from gate where key = ${concurrencyKey} for update`)
    const editing = one.send('PATCH', `/v1/tasks/${id}`, { concurrencyLimit: 5 })
    await eventually(async () => {
      const free = await db.run(sql`select from agenda where task_id = ${id} for update skip locked`)
      return free.length === 0
    })
    await claim.run(sql`update agenda set attempt = attempt + 1 where task_id = ${id}`)
    return { answered: editing }
  })

  expect(await edit.answered).toMatchObject({ status: 200 })
  expect(await limits()).toEqual([{ places: 5, rate: null }])
  expect(await db.run(sql`select attempt from agenda where task_id = ${id}`)).toEqual([{ attempt: 1 }])
})

test.each(['/v1/tasks', '/v1/tasks/bulk'])(
  'POST %s sets a limit again that has changed while the request waited',
  async (path) => {
    const { concurrencyKey, limitedTo, limits } = aKey()
    await one.send('PATCH', '/v1/projects/default', { limits: { maxTasks: 1_000 } })
    await created(one, limitedTo(5))

    const request = await db.transaction(async (tx) => {
      await tx.run(sql`select from project for update`)
      const task = limitedTo(5)
      const answered = one.send('POST', path, path.endsWith('bulk') ? { tasks: [task] } : task)
      await eventually(async () => (await db.run(BLOCKED)).length > 0)
      await tx.run(sql`update gate set places = 7 where key = ${concurrencyKey}`)
      return { answered }
    })

    expect(await request.answered).toMatchObject({ status: 201 })
    expect(await limits()).toEqual([{ places: 5, rate: null }])
  },
)

test('concurrent bulk requests that set limits of the same keys in different order are all stored', async () => {
  const some = [aKey(), aKey(), aKey()]
  const lists = Array.from({ length: 8 }, (_, i) => {
    const tasks = some.map(({ limitedTo }) => limitedTo(i + 1))
    return i % 2 === 0 ? tasks : tasks.toReversed()
  })

  const answers = await Promise.all(
    lists.map((tasks, i) => (i % 3 === 0 ? one : other).send('POST', '/v1/tasks/bulk', { tasks })),
  )

  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
  const limits = await Promise.all(some.map((key) => key.limits()))
  expect(new Set(limits.map(([gate]) => gate?.places)).size).toBe(1)
})
