/** Removing files that nobody uses over real tables: what goes, what keeps a file, and who begins to use one meanwhile. */
import { beforeEach, expect, test } from 'vitest'
import { tasksInAgenda } from '../../test/support/agenda.ts'
import { createTestDatabase } from '../../test/support/database.ts'
import { eventually } from '../../test/support/eventually.ts'
import { uuidv7 } from '../core/ids.ts'
import { DEFAULT_PROJECT_ID as projectId } from '../core/values/default-project.ts'
import { violatedConstraint } from '../store/database/database.ts'
import { sql } from '../store/database/sql.ts'
import { appendChunk, completeContent, insertContent } from '../store/files/contents.ts'
import { insertFile, noteFileUsed } from '../store/files/files.ts'
import { replaceFileUses, tasksUsingFile } from '../store/files/uses.ts'
import { silentLogger } from '../telemetry/logger.ts'
import { UnusedFiles } from './unused-files.ts'

const { db } = await createTestDatabase()
const unused = new UnusedFiles({ db, log: silentLogger(), days: 30 })

async function aContent({ chunks = 1, isComplete = true } = {}): Promise<string> {
  const id = uuidv7()
  await db.run(insertContent({ id, projectId }))
  for (let n = 0; n < chunks; n++)
    await db.run(appendChunk({ contentId: id, position: n * 10, bytes: Buffer.alloc(10, 'x') }))
  const sha256 = id.replaceAll('-', '').padEnd(64, '0')
  const kind = { kind: 'text', architecture: null, interpreter: null } as const
  if (isComplete) await db.run(completeContent({ id, sha256, ...kind }))
  return id
}

/** A file that was last used the given number of hours ago. */
async function aFile({ contentId, hours }: { contentId: string | null; hours: number }): Promise<string> {
  const id = uuidv7()
  const content = contentId === null ? {} : { size: 10, sha256: '0'.repeat(64) }
  await db.run(
    insertFile({
      id,
      projectId,
      name: 'a',
      size: null,
      sha256: null,
      uploadExpiresAt: null,
      contentId,
      ...content,
    }),
  )
  await db.run(sql`update file set used_at = now() - ${hours}::integer * interval '1 hour' where id = ${id}`)
  return id
}

const OLD = 31 * 24
const anOldFile = async () => aFile({ contentId: await aContent(), hours: OLD })

const left = async () =>
  (await db.run(sql<{ id: string }>`select id from file order by id`)).map(({ id }) => id)
const stored = async () => {
  const [row] = await db.run(sql<{ contents: number; chunks: number }>`
    select (select count(*) from file_content) as contents, (select count(*) from file_chunk) as chunks`)
  return row
}
const use = async (fileId: string, taskId: string, version = 1) =>
  db.run(replaceFileUses(projectId, { taskId, fileIds: [fileId], version }))
const aTask = async () => {
  const [task] = await tasksInAgenda(db)
  if (!task) throw new Error('there is no task')
  return task
}

beforeEach(async () => {
  await db.run({
    text: 'truncate file_use, file, file_chunk, file_content; delete from agenda; delete from task',
    values: [],
  })
})

test('a file unused for 30 days is removed with its bytes, and other files stay', async () => {
  await anOldFile()
  const recent = await aFile({ contentId: await aContent(), hours: OLD - 48 })

  await unused.runOnce()

  expect(await left()).toEqual([recent])
  expect(await stored()).toEqual({ contents: 1, chunks: 1 })
})

test('with 0 days unused files stay, but unfinished uploads are removed', async () => {
  const old = await anOldFile()
  await aFile({ contentId: null, hours: 25 })

  await new UnusedFiles({ db, log: silentLogger(), days: 0 }).runOnce()

  expect(await left()).toEqual([old])
})

test('an upload not finished within a day is removed with its bytes', async () => {
  const contentId = await aContent({ isComplete: false })
  await db.run(sql`insert into file (id, project_id, name, content_id, used_at)
                   values (${uuidv7()}, ${projectId}, 'a', ${contentId}, now() - interval '25 hours')`)
  const young = await aFile({ contentId: null, hours: 23 })

  await unused.runOnce()

  expect(await left()).toEqual([young])
  expect(await stored()).toEqual({ contents: 0, chunks: 0 })
})

test('bytes shared by several files are removed with the last file', async () => {
  const contentId = await aContent()
  const id = await aFile({ contentId, hours: OLD })
  const other = await aFile({ contentId, hours: 1 })

  await unused.runOnce()
  const afterFirst = [await left(), await stored()]
  await db.run(sql`update file set used_at = now() - interval '31 days'`)
  await unused.runOnce()

  expect(afterFirst).toEqual([[other], { contents: 1, chunks: 1 }])
  expect([await left(), await stored()]).toEqual([[], { contents: 0, chunks: 0 }])
  expect(id).not.toBe(other)
})

test('a file stays while a due, paused or manual task uses it, and is removed after the task has ended', async () => {
  const files = [
    await anOldFile(),
    await anOldFile(),
    await anOldFile(),
    await anOldFile(),
    await anOldFile(),
  ]
  const [due, paused, manual, finished, cancelled] = await tasksInAgenda(db, { count: 5 })
  for (const [n, task] of [due, paused, manual, finished, cancelled].entries())
    await use(files[n] ?? '', task?.taskId ?? '')
  await db.run(sql`delete from agenda where task_id <> ${due?.taskId}`)
  await db.run(sql`update task set paused_at = now() where id in (${paused?.taskId}, ${cancelled?.taskId})`)
  await db.run(sql`update task set cancelled_at = now() where id = ${cancelled?.taskId}`)
  await db.run(sql`update task set definition = jsonb_set(definition::jsonb, '{schedule}', '{"type":"manual"}')::json, brief = null
                   where id = ${manual?.taskId}`)

  await unused.runOnce()

  expect(await left()).toEqual(files.slice(0, 3))
})

test('a file that an edit has removed from a task stays while a run of the version before is live', async () => {
  const file = await anOldFile()
  const { taskId, runId } = await aTask()
  await use(file, taskId, 1)
  await db.run(replaceFileUses(projectId, { taskId, fileIds: [], version: 2 }))
  const users = async () => (await db.run(tasksUsingFile({ projectId, fileId: file, limit: 10 })))[0]?.users

  const during = [await users(), await unused.runOnce(), await left()]
  await db.run(sql`update agenda set version = 2 where run_id = ${runId}`)
  await db.run(sql`update file set used_at = now() - interval '31 days'`)
  const after = [await users(), await unused.runOnce(), await left()]

  expect(during).toEqual([[{ id: taskId, name: null, key: null }], false, [file]])
  expect(after).toEqual([[], true, []])
})

test('a file that a later version of a task names again stays', async () => {
  const file = await anOldFile()
  const { taskId, runId } = await aTask()
  await use(file, taskId, 1)
  await db.run(replaceFileUses(projectId, { taskId, fileIds: [], version: 2 }))
  await use(file, taskId, 3)
  await db.run(sql`update agenda set version = 3 where run_id = ${runId}`)

  await unused.runOnce()

  expect(await left()).toEqual([file])
})

test('an unfinished upload stays while a task waits for it', async () => {
  const file = await aFile({ contentId: null, hours: 48 })
  const { taskId } = await aTask()
  await use(file, taskId)
  await db.run(sql`delete from agenda`)

  await unused.runOnce()

  expect(await left()).toEqual([file])
})

test('the use of a file is recorded at most once an hour', async () => {
  const file = await aFile({ contentId: await aContent(), hours: OLD })
  await db.run(noteFileUsed(file))
  const [first] = await db.run(sql<{ at: number }>`select used_at as at from file`)

  await db.run(noteFileUsed(file))

  expect(await db.run(sql`select used_at as at from file`)).toEqual([first])
  await unused.runOnce()
  expect(await left()).toEqual([file])
})

test('many files and chunks are removed in several passes, which two nodes share', async () => {
  for (let n = 0; n < 120; n++) await anOldFile()
  const contentId = await aContent({ chunks: 700 })
  await aFile({ contentId, hours: OLD })

  let passes = 0
  await eventually(async () => {
    passes++
    const more = await Promise.all([unused.runOnce(), unused.runOnce()])
    return !more.includes(true)
  })

  expect(passes).toBeGreaterThan(1)
  expect([await left(), await stored()]).toEqual([[], { contents: 0, chunks: 0 }])
})

test('a task cannot start to use a file that is being removed, and a file in use stays', async () => {
  const [kept, gone] = [await anOldFile(), await anOldFile()]
  const { taskId } = await aTask()

  await db.transaction(async (tx) => {
    await tx.run(replaceFileUses(projectId, { taskId, fileIds: [kept], version: 1 }))
    // The use is not committed yet: the removal must not wait for it, and leave its file alone.
    await unused.runOnce()
    expect(await left()).toEqual([kept])
  })
  const late = use(gone, taskId).catch((error: unknown) => violatedConstraint(error))

  expect(await late).toBe('file_use_file_id_fkey')
  expect(await left()).toEqual([kept])
})
