/**
 * What happens in the transaction that makes a file ready: the change is recorded, and tasks that wait for the file are resumed
 * in the same transaction.
 */
import type { Queryable } from '../../store/database/database.ts'
import type { FileRow } from '../../store/files/files.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import { recordChange } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { endWaits } from '../tasks/file-waits.ts'
import { fileSubject } from './files.ts'

/** Releases the tasks that waited for the file, and returns when they are due. */
export async function fileBecameReady(tx: Queryable, context: Context, file: FileRow): Promise<DueHint[]> {
  const { size, sha256, kind } = file
  await recordChange(tx, context, {
    action: 'file.upload',
    subject: fileSubject(file),
    before: { state: 'waiting' },
    after: { state: 'ready', size, sha256, kind },
  })
  return endWaits(tx, context, { fileId: file.id })
}
