/** The bytes of files, in chunks. An upload may append only at the number of bytes received so far. */
import { CHUNK_BYTES } from '../../core/file/file.ts'
import type { FileKind } from '../../core/file/file-kind.ts'
import { list, sql } from '../database/sql.ts'

export const insertContent = ({ id, projectId }: { id: string; projectId: string }) => sql`
  insert into file_content (id, project_id) values (${id}, ${projectId})`

/** Bytes, and their position in a content. */
export interface Chunk {
  readonly contentId: string
  readonly position: number
  readonly bytes: Buffer
}

/** Appends bytes to a content; no row if its end has moved, because another upload has appended bytes or started over. */
export const appendChunk = ({ contentId, position, bytes }: Chunk) => sql<{ contentId: string }>`
  with advanced as (
    update file_content set received = received + ${bytes.length}::bigint
    where id = ${contentId} and received = ${position}::bigint and sha256 is null and dropped_at is null
    returning id
  )
  insert into file_chunk (content_id, position, bytes)
  select id, ${position}::bigint, ${bytes}::bytea from advanced
  returning content_id as "contentId"`

/** Reads from a position to the end of its chunk; no bytes at the end of the content. */
export const readChunk = (contentId: string, position: number) => sql<{ bytes: Buffer }>`
  select substr(bytes, least(${position}::bigint - position, ${CHUNK_BYTES})::integer + 1) as bytes from file_chunk
  where content_id = ${contentId} and position <= ${position}::bigint
  order by position desc limit 1`

/** Returns the complete content of a project with this hash, protected from being dropped until the commit. */
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

/** Locks contents against concurrent sharing, ordered by id. Contents must be locked before they are dropped. */
export const lockContents = (ids: readonly string[]) => sql<{ id: string }>`
  select id from file_content where id = any(${list(ids, (id) => id)}::uuid[]) order by id for update`

/** Drops the given contents that no file refers to. */
export const dropContents = (ids: readonly string[]) => sql`
  update file_content c set dropped_at = now(), sha256 = null
  where id = any(${list(ids, (id) => id)}::uuid[]) and dropped_at is null
    and not exists (select from file where content_id = c.id)`

/** Maximum number of contents whose chunks are deleted at a time. */
const CONTENTS_AT_ONCE = 100

/** Deletes some chunks of dropped contents. The order makes the planner use the index. */
export const deleteDroppedChunks = (limit: number) => sql<{ contentId: string }>`
  delete from file_chunk where ctid = any(array(
    select k.ctid
    from (select id from file_content where dropped_at is not null order by dropped_at limit ${CONTENTS_AT_ONCE}) c
    cross join lateral (
      select ctid from file_chunk where content_id = c.id order by content_id, position limit ${limit} for update skip locked
    ) k
    limit ${limit}))
  returning content_id as "contentId"`

/** Deletes dropped contents that have no chunks left. */
export const deleteDroppedContents = (limit: number) => sql`
  delete from file_content where ctid = any(array(
    select ctid from file_content c where dropped_at is not null and not exists (select from file_chunk where content_id = c.id)
    order by dropped_at limit ${limit} for update skip locked))`
