/**
 * Uploads files: all at once, or in parts, each of which continues where the last one ended. Bytes are stored in chunks as they
 * arrive, each in its own transaction, so a connection or a node that fails loses less than a chunk. The number of bytes
 * received decides every race: a chunk is stored only at the end of the content, so of two uploads that append to one file only
 * one continues. An upload from the beginning replaces one in progress.
 *
 * The hash of the file is computed while the bytes arrive; if an upload was continued, the earlier bytes are read again at its
 * end.
 */
import { createHash, type Hash } from 'node:crypto'
import { invalidInput, Refusal } from '../../core/errors.ts'
import type { ContentRange } from '../../core/file/content-range.ts'
import { CHUNK_BYTES } from '../../core/file/file.ts'
import { uuidv7 } from '../../core/ids.ts'
import type { Queryable } from '../../store/database/database.ts'
import { appendChunk, insertContent } from '../../store/files/contents.ts'
import { type FileRow, findFile as findFileRow, lockFile, setFileContent } from '../../store/files/files.ts'
import { readContent } from '../../store/files/read-content.ts'
import type { Context } from '../context.ts'
import { withRoom } from '../limits/admit-tasks.ts'
import { limitsOf } from '../limits/task-limits.ts'
import { makeReady } from './file-ready.ts'
import { findFile, releaseContents, unknown } from './files.ts'
import { elsewhere, empty, otherHash, otherLength, otherSize, tooLarge } from './upload-refusals.ts'

/** The request of an upload. */
export interface Upload {
  readonly body: AsyncIterable<Buffer>
  /** Length of the body, if the sender states it. */
  readonly bytes: number | null
  /** Null if the body is the whole file. */
  readonly range: ContentRange | null
}

/** An upload that has begun. */
interface Begun {
  readonly file: FileRow
  readonly contentId: string
  /** The position of the first byte of the body. */
  readonly from: number
  /** The position that the body must end before or at. */
  readonly end: number
  /** Whether the file is complete after this body. */
  readonly isLast: boolean
}

/** Stores the body; with its last byte the file is ready. Returns the file as it is then. */
export async function uploadFile(context: Context, id: string, upload: Upload): Promise<FileRow> {
  const begun = await begin(context, id, upload)
  const hash = begun.from === 0 ? createHash('sha256') : null
  const isPart = upload.range !== null
  const position = await receive(context, begun, { body: upload.body, hash, isPart })
  if (isPart && position !== begun.end) throw otherLength(begun.end - begun.from, position - begun.from)
  if (!begun.isLast) return findFile(context, id)
  return complete(context, begun, { size: position, hash })
}

/** Decides where the upload begins, before any of its body is read. */
function begin(context: Context, id: string, { bytes, range }: Upload): Promise<Begun> {
  const { db, projectId, maxFileBytes } = context
  return db.transaction(async (tx) => {
    const [file] = await tx.run(lockFile({ projectId, id }))
    if (!file) return unknown(id)
    if (file.readyAt !== null)
      throw new Refusal('file_ready', `File ${id} is complete. To upload other bytes, create another file.`)
    const total = range === null ? bytes : range.total
    if (total !== null) checkTotal(file, total, maxFileBytes)
    if (range === null) {
      const end = bytes ?? file.size ?? maxFileBytes
      return { file, contentId: await startOver(tx, file), from: 0, end, isLast: true }
    }
    if (range.from === null) return finishing(file, range.total)
    checkPart(file, range, { bytes, maxFileBytes })
    const { from, to } = range
    const contentId = file.contentId ?? (await startOver(tx, file))
    return { file, contentId, from, end: to + 1, isLast: range.total === to + 1 }
  })
}

function checkTotal({ size }: FileRow, total: number, maxFileBytes: number): void {
  if (total > maxFileBytes) throw tooLarge(maxFileBytes)
  if (total === 0) throw empty()
  if (size !== null && total !== size) throw otherSize(total, size)
}

/** Begins an upload of which every byte was received, but not its completion. */
function finishing(file: FileRow, total: number): Begun {
  const { contentId, received } = file
  if (contentId === null || received !== total) throw elsewhere(received)
  return { file, contentId, from: received, end: received, isLast: true }
}

function checkPart(
  { received, size }: FileRow,
  { from, to, total }: Extract<ContentRange, { from: number }>,
  { bytes, maxFileBytes }: { readonly bytes: number | null; readonly maxFileBytes: number },
): void {
  const length = to + 1 - from
  if (bytes !== null && bytes !== length) throw otherLength(length, bytes)
  if (to >= maxFileBytes) throw tooLarge(maxFileBytes)
  if (size !== null && to >= size) throw otherSize(to + 1, size)
  if (total !== to + 1 && length < CHUNK_BYTES)
    throw invalidInput([
      {
        pointer: 'content-range',
        detail: `must announce at least ${CHUNK_BYTES} bytes, unless it is the last part`,
      },
    ])
  if (from !== received) throw elsewhere(received)
}

/** Replaces the content of a file with a new, empty one. */
async function startOver(tx: Queryable, { id, projectId, contentId: former }: FileRow): Promise<string> {
  const contentId = uuidv7()
  await tx.run(insertContent({ id: contentId, projectId }))
  await tx.run(setFileContent({ id, contentId }))
  await releaseContents(tx, former === null ? [] : [former])
  return contentId
}

/** Stores the body chunk by chunk, and returns the position where it ended. */
async function receive(
  context: Context,
  begun: Begun,
  {
    body,
    hash,
    isPart,
  }: { readonly body: AsyncIterable<Buffer>; readonly hash: Hash | null; readonly isPart: boolean },
): Promise<number> {
  const { file, contentId, from, end } = begun
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES)
  let position = from
  let filled = 0
  const flush = async () => {
    await store(context, file, { contentId, position, bytes: chunk.subarray(0, filled) })
    position += filled
    filled = 0
  }
  for await (const piece of body) {
    if (position + filled + piece.length > end) throw await tooLong(context, begun, { isPart })
    hash?.update(piece)
    for (let taken = 0; taken < piece.length; ) {
      const copied = piece.copy(chunk, filled, taken)
      taken += copied
      filled += copied
      if (filled === CHUNK_BYTES) await flush()
    }
  }
  if (filled > 0) await flush()
  return position
}

/** Returns the error for a body that is too long. If the body is one part of several, the parts stored before it are kept. */
async function tooLong(
  context: Context,
  { file, contentId, from, end }: Begun,
  { isPart }: { readonly isPart: boolean },
): Promise<Refusal> {
  if (isPart) return otherLength(end - from, 'more')
  const refusal = file.size === null ? tooLarge(context.maxFileBytes) : otherSize('more', file.size)
  return refused(context, file, contentId, refusal)
}

/** Stores a chunk, within the storage limit of the project. */
async function store(
  context: Context,
  { id, projectId }: FileRow,
  chunk: { readonly contentId: string; readonly position: number; readonly bytes: Buffer },
): Promise<void> {
  const { project } = await limitsOf(context)
  const append = async (tx: Queryable) => {
    const [added] = await tx.run(appendChunk(chunk))
    if (added) return
    const [now] = await tx.run(findFileRow({ projectId, id }))
    throw now ? elsewhere(now.received) : unknown(id)
  }
  if (project.maxStoredBytes === null) return append(context.db)
  const limits = { maxTasks: null, maxStoredBytes: project.maxStoredBytes }
  await withRoom(context, limits, { tasks: 0, bytes: chunk.bytes.length }, append)
}

/** Compares the received bytes with the announced size and hash, and makes the file ready. */
async function complete(
  context: Context,
  { file, contentId }: Begun,
  { size, hash }: { readonly size: number; readonly hash: Hash | null },
): Promise<FileRow> {
  const { db } = context
  if (size === 0) throw await refused(context, file, contentId, empty())
  if (file.size !== null && size !== file.size)
    throw await refused(context, file, contentId, otherSize(size, file.size))
  const sha256 = (hash ?? (await hashOf(db, contentId, size))).digest('hex')
  if (file.sha256 !== null && sha256 !== file.sha256)
    throw await refused(context, file, contentId, otherHash(sha256, file.sha256))
  return makeReady(context, file, { contentId, size, sha256 })
}

async function hashOf(db: Queryable, contentId: string, size: number): Promise<Hash> {
  const hash = createHash('sha256')
  for await (const bytes of readContent(db, contentId, { to: size })) hash.update(bytes)
  return hash
}

/** Rejects an upload, and deletes what it has stored; the upload must start over. */
async function refused(
  { db }: Context,
  { id, projectId }: FileRow,
  contentId: string,
  refusal: Refusal,
): Promise<Refusal> {
  await db.transaction(async (tx) => {
    const [file] = await tx.run(lockFile({ projectId, id }))
    if (file?.contentId !== contentId || file.readyAt !== null) return
    await tx.run(setFileContent({ id, contentId: null }))
    await releaseContents(tx, [contentId])
  })
  return refusal
}
