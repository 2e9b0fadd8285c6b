/** Files of a project: created first, then uploaded, then immutable. */
import { invalidInput, Refusal } from '../../core/errors.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { Queryable } from '../../store/database/database.ts'
import { dropContents, lockContents, shareContent } from '../../store/files/contents.ts'
import {
  deleteFile,
  type FileQuery,
  type FileRow,
  findFile as findFileRow,
  insertFile,
  listFiles,
  lockFile,
} from '../../store/files/files.ts'
import { tasksUsingFile } from '../../store/files/uses.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import {
  type ListedUsers,
  listUsers,
  USERS_TO_LIST,
  type UsersInTheWay,
  usersInTheWay,
} from '../tasks/task-users.ts'
import { UPLOAD_HOURS, uploadPath } from './addresses.ts'

/** What the creator of a file specifies. */
export interface WantedFile {
  readonly name: string
  readonly size?: number | undefined
  readonly sha256?: string | undefined
}

/** A file, and where to upload it. */
export interface CreatedFile {
  readonly file: FileRow
  /** Path and query to upload it to; null if the file is ready. */
  readonly uploadPath: string | null
}

/** Creates a file. It is ready at once if the project already has the same bytes. */
export async function createFile(context: Context, { name, size, sha256 }: WantedFile): Promise<CreatedFile> {
  const { db, projectId, clock, maxFileBytes } = context
  if (size !== undefined && size > maxFileBytes)
    throw invalidInput([
      { pointer: '/size', detail: `must not be more than ${maxFileBytes} (--max-file-bytes)` },
    ])
  const id = uuidv7()
  const expiresAt = clock.now() + UPLOAD_HOURS * 3_600_000
  // Signs before anything is stored: a node without keys cannot sign addresses.
  const path = await uploadPath(context, id, expiresAt)
  return db.transaction(async (tx) => {
    const shared = sha256 === undefined ? undefined : await sameBytes(tx, { projectId, sha256, size })
    await tx.run(
      insertFile({
        id,
        projectId,
        name,
        size: shared?.size ?? size ?? null,
        sha256: sha256 ?? null,
        uploadExpiresAt: shared ? null : expiresAt,
        contentId: shared?.id ?? null,
      }),
    )
    const [file] = await tx.run(findFileRow({ projectId, id }))
    if (!file) throw new Error(`file ${id} is not found after it was stored`)
    const after = { name, size: file.size, sha256: file.sha256, state: stateOf(file) }
    await recordChange(tx, context, { action: 'file.create', subject: fileSubject(file), after })
    return { file, uploadPath: shared ? null : path }
  })
}

async function sameBytes(
  tx: Queryable,
  { projectId, sha256, size }: { projectId: string; sha256: string; size: number | undefined },
) {
  const [content] = await tx.run(shareContent({ projectId, sha256 }))
  return content && (size === undefined || size === content.size) ? content : undefined
}

export const stateOf = ({ readyAt }: Pick<FileRow, 'readyAt'>) => (readyAt === null ? 'waiting' : 'ready')

export const fileSubject = ({ id, name }: Pick<FileRow, 'id' | 'name'>) =>
  ({ kind: 'file', id, name }) as const

export async function findFile(
  { db, projectId }: Pick<Context, 'db' | 'projectId'>,
  id: string,
): Promise<FileRow> {
  const [file] = await db.run(findFileRow({ projectId, id }))
  return file ?? unknown(id)
}

/** A file, and the tasks that use it. */
export interface FileInUse extends ListedUsers {
  readonly file: FileRow
}

export async function getFile(context: Context, id: string): Promise<FileInUse> {
  const file = await findFile(context, id)
  const { db, projectId } = context
  const users = tasksUsingFile({ projectId, fileId: id, limit: USERS_TO_LIST })
  const [found] = await db.snapshot((tx) => tx.run(users), { inOrder: true })
  return { file, ...listUsers(found) }
}

export const readFiles = (
  { db, projectId }: Context,
  query: Omit<FileQuery, 'projectId'>,
): Promise<FileRow[]> => db.run(listFiles({ projectId, ...query }))

/** Deletes a file that no task uses. Its content is deleted with the last file that has the same content. */
export async function removeFile(context: Context, id: string): Promise<void> {
  const { db, projectId } = context
  await db.transaction(async (tx) => {
    const [file] = await tx.run(lockFile({ projectId, id }))
    if (!file) return unknown(id)
    const users = await usersInTheWay(`the file ${file.name}`, (search) =>
      tx.run(tasksUsingFile({ projectId, fileId: id, ...search })),
    )
    if (users) throw inUse(users)
    await tx.run(deleteFile({ projectId, id }))
    await releaseContents(tx, file.contentId === null ? [] : [file.contentId])
    const before = { name: file.name, size: file.size, sha256: file.sha256, state: stateOf(file) }
    await recordChange(tx, context, { action: 'file.delete', subject: fileSubject(file), before })
  })
}

/** Deletes contents that no other file uses. The files themselves no longer refer to them. */
export async function releaseContents(tx: Queryable, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return
  await tx.run(lockContents(ids))
  await tx.run(dropContents(ids))
}

function inUse({ reason, taskIds }: UsersInTheWay): Refusal {
  const advice =
    taskIds.length > 0
      ? 'Change or delete the tasks that use it first.'
      : 'It is deleted when no task has used it for --unused-file-days.'
  return new Refusal('file_in_use', `${reason} ${advice}`, { extra: { taskIds } })
}

export function unknown(id: string): never {
  throw new Refusal('not_found', `File ${id} does not exist.`)
}
