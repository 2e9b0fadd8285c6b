/** Tasks have no foreign key to their project: the statement that creates them keeps what it would. */
import { expect, test } from 'vitest'
import { uuidv7 } from '../../src/core/ids.ts'
import { sql } from '../../src/store/database/sql.ts'
import { tasksInAgenda } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'

const { db } = await createTestDatabase()

const count = async (table: 'task' | 'agenda' | 'audit_entry') =>
  (await db.run({ ...sql<{ n: number }>``, text: `select count(*)::integer as n from ${table}` }))[0]?.n

test('tasks of a project that does not exist are not stored', async () => {
  await expect(tasksInAgenda(db, { count: 3, projectId: uuidv7() })).rejects.toThrow('project_id')

  expect(await Promise.all([count('task'), count('agenda'), count('audit_entry')])).toEqual([0, 0, 0])
})

test('a project cannot be deleted while tasks are created in it', async () => {
  const projectId = uuidv7()
  await db.run(sql`insert into project (id, name) values (${projectId}, 'busy')`)

  await db.transaction(async (tx) => {
    await tasksInAgenda(tx as typeof db, { projectId })
    const deleting = db.run(sql`select from project where id = ${projectId} for update nowait`)
    await expect(deleting).rejects.toThrow('could not obtain lock')
  })
})
