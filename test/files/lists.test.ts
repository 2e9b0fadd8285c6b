/** Lists of files, and finding one behind a hundred thousand others. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { deleteDroppedChunks } from '../../src/store/files/contents.ts'
import { type FileQuery, findFile, listFiles } from '../../src/store/files/files.ts'
import { lockUnusedFiles, replaceFileUses } from '../../src/store/files/uses.ts'
import { createTestDatabase } from '../support/database.ts'
import { aManualTask, startTestNode } from '../support/node.ts'
import { planOf } from '../support/plan.ts'
import { aFile, aWaitingFile, sha256, someBytes } from './support.ts'

const database = await createTestDatabase()
const { db } = database
const node = await startTestNode(database, { roles: 'api' })
const list = async (query = '') => (await node.request('GET', `/v1/files${query}`)).body
const ids = ({ items }: { items: readonly { id: string }[] }) => items.map(({ id }) => id)

test('files are listed newest first, in pages, and found by name, content and state', async () => {
  const bytes = someBytes(10)
  const first = await aFile(node, bytes, 'a.sh')
  const second = await aFile(node, bytes, 'b.sh')
  const { id: third } = await aWaitingFile(node, { name: 'a.sh', sha256: 'f'.repeat(64) })

  const page = await list('?limit=2')

  expect(ids(page)).toEqual([third, second])
  expect(ids(await list(`?limit=2&cursor=${page.nextCursor}`))).toEqual([first])
  expect(ids(await list('?name=a.sh'))).toEqual([third, first])
  expect(ids(await list(`?sha256=${sha256(bytes)}`))).toEqual([second, first])
  expect(ids(await list(`?sha256=${'f'.repeat(64)}&state=waiting&name=a.sh`))).toEqual([third])
  expect(ids(await list('?state=ready'))).toEqual([second, first])
  expect(ids(await list('?name=c.sh'))).toEqual([])
})

test.each([['?name=a/b'], ['?sha256=ABC'], ['?state=gone'], ['?cursor=x'], ['?limit=0'], ['?size=1']])(
  '%s is refused',
  async (query) => {
    expect((await node.request('GET', `/v1/files${query}`)).status).toBe(422)
  },
)

test('a file lists the tasks that use it and cannot be deleted before them', async () => {
  const id = await aFile(node, someBytes(10), 'used.sh')
  const taskId = await aManualTask(node, { name: 'backup' })
  await db.run(replaceFileUses(projectId, { taskId, fileIds: [id], version: 1 }))

  const used = (await node.request('GET', `/v1/files/${id}`)).body
  const refused = await node.request('DELETE', `/v1/files/${id}`)
  await node.request('DELETE', `/v1/tasks/${taskId}`)
  const unused = (await node.request('GET', `/v1/files/${id}`)).body
  const deleted = await node.request('DELETE', `/v1/files/${id}`)

  expect(used).toMatchObject({ usedBy: [{ id: taskId, name: 'backup', key: null }], hasMoreUsers: false })
  expect(refused).toMatchObject({
    status: 409,
    body: { code: 'file_in_use', detail: expect.stringContaining('backup'), taskIds: [taskId] },
  })
  expect(unused.usedBy).toEqual([])
  expect(deleted.status).toBe(204)
  expect((await node.request('GET', `/v1/files/${id}`)).status).toBe(404)
})

const FILES = 100_000
/** So many that nobody would read all of them; a table of a few pages is best read as a whole. */
const CHUNKS = 20_000
const query: FileQuery = { projectId, name: null, sha256: null, state: null, before: null, limit: 51 }

test('queries among a hundred thousand files use indexes, even with outdated statistics', async () => {
  const sought = await aFile(node, Buffer.from('the one sought'), 'sought')
  const { id: waiting } = await aWaitingFile(node, { name: 'waiting' })
  await db.run(sql`analyze file, file_content, file_chunk`)
  await db.run(sql`
    insert into file (id, project_id, name, size, sha256, content_id, ready_at)
    select ('ffff' || substr(gen_random_uuid()::text, 5))::uuid, ${projectId}, 'other-' || n, 1, lpad(to_hex(n), 64, '0'),
           (select content_id from file where id = ${sought}), now() from generate_series(1, ${FILES}) n`)
  await db.run(sql`
    insert into file_chunk (content_id, position, bytes)
    select content_id, 1000 + n, '\\x00' from file, generate_series(1, ${CHUNKS}) n where id = ${sought}`)
  const hash = sha256('the one sought')
  const explainAll = async () => [
    await planOf(db, listFiles({ ...query, name: 'sought' })),
    await planOf(db, listFiles({ ...query, sha256: hash })),
    await planOf(db, listFiles({ ...query, state: 'waiting' })),
    await planOf(db, listFiles({ ...query, before: sought })),
    await planOf(db, listFiles(query)),
    await planOf(db, findFile({ projectId, id: sought })),
    await planOf(db, lockUnusedFiles({ state: 'waiting', hours: 24, limit: 100 })),
    await planOf(db, lockUnusedFiles({ state: 'ready', hours: 24, limit: 100 })),
    await planOf(db, deleteDroppedChunks(512)),
  ]

  const unaware = await explainAll()
  await db.run(sql`analyze file, file_content, file_chunk`)
  const aware = await explainAll()

  for (const { rows, tablesRead } of [...unaware, ...aware]) {
    expect(tablesRead).toEqual([])
    expect(rows).toBeLessThan(250)
  }
  expect(ids(await list('?name=sought'))).toEqual([sought])
  expect(ids(await list(`?sha256=${hash}`))).toEqual([sought])
  expect(ids(await list('?state=waiting'))).toContain(waiting)
})
