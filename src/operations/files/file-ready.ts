/**
 * Makes a file ready, in one transaction: its bytes are complete, or shared with a file that has the same ones; the change is
 * recorded; and tasks that wait for the file are resumed, so that no task waits for a file that is there.
 */
import { fileKindOf } from '../../core/file/file-kind.ts'
import { isRefused, type Queryable, violatedConstraint } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { completeContent, readChunk, shareContent } from '../../store/files/contents.ts'
import { type FileRow, findFile, lockFile, makeFileReady } from '../../store/files/files.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { endWaits } from '../tasks/file-waits.ts'
import { fileSubject, releaseContents, unknown } from './files.ts'
import { elsewhere } from './upload-refusals.ts'

/** The bytes of a file, all of them received. */
export interface Received {
  readonly contentId: string
  readonly size: number
  readonly sha256: string
}

const MAX_TRIES = 3

export async function makeReady(context: Context, file: FileRow, received: Received): Promise<FileRow> {
  for (let tries = 1, resumes = true; ; tries++) {
    try {
      return await tryToMakeReady(context, file, { ...received, resumes })
    } catch (error) {
      if (tries === MAX_TRIES || !isRefused(error)) throw error
      // Another upload has just stored the same bytes: the next try finds them. Otherwise, PostgreSQL may have rejected a row of a
      // task that waits for the file. Such tasks are then left to maintenance/file-waits.ts, which sets the rejected one aside.
      if (violatedConstraint(error) !== 'file_content_once') resumes = false
    }
  }
}

async function tryToMakeReady(
  context: Context,
  { id, projectId }: FileRow,
  { contentId, size, sha256, resumes }: Received & { readonly resumes: boolean },
): Promise<FileRow> {
  const { after, due } = await withDeadlockRetry(context.db, async (tx) => {
    const [file] = await tx.run(lockFile({ projectId, id }))
    if (!file) return unknown(id)
    const [shared] = await tx.run(shareContent({ projectId, sha256 }))
    if (!shared) {
      const [first] = await tx.run(readChunk(contentId, 0))
      await tx.run(completeContent({ id: contentId, sha256, ...fileKindOf(first?.bytes ?? Buffer.alloc(0)) }))
    }
    const ready = { id, uploadedId: contentId, contentId: shared?.id ?? contentId, size, sha256 }
    const [made] = await tx.run(makeFileReady(ready))
    if (!made) throw elsewhere(file.received)
    if (shared) await releaseContents(tx, [contentId])
    const [after] = await tx.run(findFile({ projectId, id }))
    if (!after) throw new Error(`file ${id} is not found after it was made ready`)
    await recordReady(tx, context, after)
    return { after, due: resumes ? await endWaits(tx, context, { fileId: id }) : [] }
  })
  if (due.length > 0) context.wakeUps.announceDue(due)
  return after
}

const recordReady = (tx: Queryable, context: Context, file: FileRow) =>
  recordChange(tx, context, {
    action: 'file.upload',
    subject: fileSubject(file),
    before: { state: 'waiting' },
    after: { state: 'ready', size: file.size, sha256: file.sha256, kind: file.kind },
  })
