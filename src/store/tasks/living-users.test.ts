/** Finding the tasks that still use a secret or a file among many that used it once: what is found, and what is read for it. */
import { beforeEach, expect, test } from 'vitest'
import { createTestDatabase } from '../../../test/support/database.ts'
import { planOf } from '../../../test/support/plan.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../../core/values/default-project.ts'
import type { Queryable } from '../database/database.ts'
import { sql } from '../database/sql.ts'
import { tasksUsingFile } from '../files/uses.ts'
import { tasksUsing } from '../secrets/uses.ts'
import { MAX_EXAMINED_USES } from './living-users.ts'

const { db } = await createTestDatabase()
const name = 'TOKEN'
const fileId = '01a00000-0000-7000-8000-00000000f11e'
const FINISHED = 30_000

/** The id of the task with this number; a higher number is a newer task. */
const idOf = (n: number) => `01a00000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`

/** Tasks with the numbers `first`, `first + step` and so on, which have no live run. */
const addTasks = ({ first = 1, count = 1, step = 1, schedule = 'once' } = {}) =>
  db.run(sql`
    insert into task (id, project_id, action_type, definition)
    select ('01a00000-0000-7000-8000-' || lpad(to_hex(${first}::integer + ${step}::integer * n), 12, '0'))::uuid, ${projectId}, 'sleep',
           json_build_object('schedule', json_build_object('type', ${schedule}::text))
    from generate_series(0, ${count}::integer - 1) n`)
const everyTaskUsesBoth = async () => {
  await db.run(
    sql`insert into secret_use (project_id, name, task_id) select project_id, ${name}, id from task`,
  )
  await db.run(
    sql`insert into file_use (file_id, task_id, project_id) select ${fileId}, id, project_id from task`,
  )
}
/** Gives each task in a range a live row, up to and including the last. */
const schedule = (from: number, to: number) =>
  db.run(sql`
    insert into agenda (run_id, task_id, project_id, shard, wake_at, scheduled_for, version, ordinal)
    select gen_random_uuid(), id, project_id, 1, now() + interval '1 day', now() + interval '1 day', 1, 1
    from task where id between ${idOf(from)} and ${idOf(to)}`)

const ofSecret = (limit = 10) => tasksUsing({ projectId, name, limit })
const ofFile = (limit = 10) => tasksUsingFile({ projectId, fileId, limit })
const inOrder = <T>(work: (tx: Queryable) => Promise<T>) => db.snapshot(work, { inOrder: true })
const found = async () => {
  const [[secret], [file]] = await inOrder(async (tx) => [await tx.run(ofSecret()), await tx.run(ofFile())])
  expect(file).toEqual(secret)
  return { ids: secret?.users.map(({ id }) => id), isCut: secret?.cutAt !== null }
}

beforeEach(async () => {
  await db.run({
    text: 'truncate file_use, file, secret_use, agenda; delete from task; analyze task, agenda, secret_use, file_use',
    values: [],
  })
  await db.run(
    sql`insert into file_content (id, project_id) values (${fileId}, ${projectId}) on conflict do nothing`,
  )
  await db.run(sql`insert into file (id, project_id, name, size, sha256, content_id, ready_at)
                   values (${fileId}, ${projectId}, 'a', 1, ${'0'.repeat(64)}, ${fileId}, now())`)
})

test('users that can still run are found by index among many that have ended', async () => {
  await addTasks({ count: FINISHED })
  await everyTaskUsesBoth()
  await schedule(20_000, 20_001)

  for (const isAnalysed of [false, true]) {
    if (isAnalysed) await db.run({ text: 'analyze task, agenda, secret_use, file_use', values: [] })
    for (const statement of [ofSecret(), ofFile()]) {
      const { tablesRead, rows, pages } = await inOrder((tx) => planOf(tx, statement))
      expect(tablesRead).toEqual([])
      expect(rows).toBeLessThan(50)
      expect(pages).toBeLessThan(150)
    }
  }
  expect(await found()).toEqual({ ids: [idOf(20_001), idOf(20_000)], isCut: false })
})

test('tasks that are due, paused or manual are found, newest first, and others are not', async () => {
  const [due, paused, manual, cancelled, finished, notAUser] = [1, 2, 3, 4, 5, 6]
  await addTasks({ count: finished })
  await db.run(
    sql`update task set definition = '{"schedule":{"type":"manual"}}' where id in (${idOf(manual)}, ${idOf(cancelled)})`,
  )
  await db.run(sql`update task set paused_at = now() where id = ${idOf(paused)}`)
  await db.run(sql`update task set cancelled_at = now() where id = ${idOf(cancelled)}`)
  await everyTaskUsesBoth()
  await addTasks({ first: notAUser, schedule: 'manual' })
  await schedule(due, due)

  expect(await found()).toEqual({ ids: [idOf(manual), idOf(paused), idOf(due)], isCut: false })
})

test('with every task in use a search ends with as many users as it was asked for', async () => {
  await addTasks({ count: FINISHED })
  await everyTaskUsesBoth()
  await schedule(1, FINISHED)

  const [secret] = await db.run(ofSecret(3))
  const { rows } = await planOf(db, ofSecret(3))

  expect(secret?.users.map(({ id }) => id)).toEqual([0, 1, 2].map((n) => idOf(FINISHED - n)))
  expect(rows).toBeLessThan(50)
})

test('uses of other secrets and files by newer tasks are not examined', async () => {
  await addTasks({ count: FINISHED / 2 })
  await everyTaskUsesBoth()
  await addTasks({ first: FINISHED / 2 + 1, count: FINISHED / 2 })
  await schedule(FINISHED / 2 + 1, FINISHED)
  for (const other of ['A', 'Z'])
    await db.run(
      sql`insert into secret_use (project_id, name, task_id) select project_id, ${other}, id from task where id > ${idOf(FINISHED / 2)}`,
    )
  await db.run({ text: 'analyze task, agenda, secret_use, file_use', values: [] })

  for (const statement of [ofSecret(), ofFile()]) expect((await planOf(db, statement)).rows).toBeLessThan(50)
  expect(await found()).toEqual({ ids: [], isCut: false })
})

test('a search that examines too many uses says that there may be more users', async () => {
  const count = MAX_EXAMINED_USES + 1
  await addTasks({ first: 1, step: 2, count })
  await everyTaskUsesBoth()
  await schedule(1, 1)
  await addTasks({ first: 2, step: 2, count, schedule: 'manual' })

  expect(await found()).toEqual({ ids: [], isCut: true })
  const [first] = await db.run(ofSecret())
  const [rest] = await db.run(tasksUsing({ projectId, name, limit: 10, before: first?.cutAt ?? undefined }))
  expect(rest).toMatchObject({ users: [{ id: idOf(1) }], cutAt: null })
})
