/** The bytes of files, in chunks. How much of a content was received decides who may add to it. */
import type { FileKind } from '../../core/file/file-kind.ts'
import { sql } from '../database/sql.ts'

export const insertContent = ({ id, projectId }: { id: string; projectId: string }) => sql`
  insert into file_content (id, project_id) values (${id}, ${projectId})`

/** Bytes, and where they belong. */
export interface Chunk {
  readonly contentId: string
  readonly position: number
  readonly bytes: Buffer
}

/** Adds bytes at the end of a content; no row when its end is elsewhere by now, because another upload has added some or begun anew. */
export const appendChunk = ({ contentId, position, bytes }: Chunk) => sql<{ contentId: string }>`
  with advanced as (
    update file_content set received = received + ${bytes.length}::bigint
    where id = ${contentId} and received = ${position}::bigint and sha256 is null and dropped_at is null
    returning id
  )
  insert into file_chunk (content_id, position, bytes)
  select id, ${position}::bigint, ${bytes}::bytea from advanced
  returning content_id as "contentId"`

/** The chunk that a position lies in. */
export const readChunk = (contentId: string, position: number) => sql<{ position: number; bytes: Buffer }>`
  select position, bytes from file_chunk
  where content_id = ${contentId} and position <= ${position}::bigint
  order by position desc limit 1`

/** Complete content of a project with this hash, kept from being dropped until the commit. */
export const shareContent = ({ projectId, sha256 }: { projectId: string; sha256: string }) => sql<{
  id: string
  size: number
}>`
  select id, received as size from file_content where project_id = ${projectId} and sha256 = ${sha256} for key share`

/** Completes a content; from then on it never changes. */
export const completeContent = (complete: { id: string; sha256: string } & FileKind) => sql`
  update file_content set sha256 = ${complete.sha256}, kind = ${complete.kind},
                          architecture = ${complete.architecture}, interpreter = ${complete.interpreter}
  where id = ${complete.id} and sha256 is null and dropped_at is null`

/** Locks a content against everybody who would share it. It must be locked before it is dropped. */
export const lockContent = (id: string) => sql<{ id: string }>`
  select id from file_content where id = ${id} for update`

/** Drops a content that no file refers to. */
export const dropContent = (id: string) => sql`
  update file_content set dropped_at = now(), sha256 = null
  where id = ${id} and dropped_at is null and not exists (select from file where content_id = ${id})`

/** Deletes some chunks of dropped contents. */
export const deleteDroppedChunks = (limit: number) => sql<{ contentId: string }>`
  delete from file_chunk where ctid = any(array(
    select k.ctid from file_content c join file_chunk k on k.content_id = c.id
    where c.dropped_at is not null
    limit ${limit} for update of k skip locked))
  returning content_id as "contentId"`

/** Deletes dropped contents that have no chunks left. */
export const deleteDroppedContents = (limit: number) => sql`
  delete from file_content where ctid = any(array(
    select ctid from file_content c where dropped_at is not null and not exists (select from file_chunk where content_id = c.id)
    limit ${limit} for update skip locked))`
