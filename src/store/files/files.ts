/** Files of a project: creating, finding and deleting them. */
import { list, part, sql } from '../database/sql.ts'

/** A file as read. Until it is ready, size and hash are the ones announced by the uploader. */
export interface FileRow {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly size: number | null
  readonly sha256: string | null
  readonly contentId: string | null
  /** Number of bytes stored so far. */
  readonly received: number
  readonly kind: string | null
  readonly architecture: string | null
  readonly interpreter: string | null
  readonly createdAt: number
  readonly uploadExpiresAt: number | null
  readonly readyAt: number | null
}

const columns = part`
  f.id, f.project_id as "projectId", f.name, f.size, f.sha256, f.content_id as "contentId", coalesce(c.received, 0) as received,
  c.kind, c.architecture, c.interpreter, f.created_at as "createdAt", f.upload_expires_at as "uploadExpiresAt",
  f.ready_at as "readyAt"`

/** A file to insert. */
export interface NewFile {
  readonly id: string
  readonly projectId: string
  readonly name: string
  readonly size: number | null
  readonly sha256: string | null
  /** When its upload address expires; null for a file that is ready. */
  readonly uploadExpiresAt: number | null
  /** An existing content that the file shares, which makes it ready; otherwise null. */
  readonly contentId: string | null
}

export const insertFile = ({ id, projectId, name, size, sha256, uploadExpiresAt, contentId }: NewFile) => sql`
  insert into file (id, project_id, name, size, sha256, upload_expires_at, content_id, ready_at)
  values (${id}, ${projectId}, ${name}, ${size}, ${sha256}, to_timestamp(${uploadExpiresAt}::float8 / 1000),
          ${contentId}::uuid, case when ${contentId}::uuid is null then null else now() end)`

/** Identifies one file of a project. */
export interface FileKey {
  readonly projectId: string
  readonly id: string
}

export const findFile = ({ projectId, id }: FileKey) => sql<FileRow>`
  select ${columns} from file f left join file_content c on c.id = f.content_id
  where f.id = ${id} and f.project_id = ${projectId}`

/** Returns several files; ids that do not exist are skipped. */
export const findFilesByIds = (projectId: string, ids: readonly string[]) => sql<FileRow>`
  select ${columns} from file f left join file_content c on c.id = f.content_id
  where f.id = any(${list(ids, (id) => id)}::uuid[]) and f.project_id = ${projectId}`

/** Returns the file, locked until the commit. */
export const lockFile = ({ projectId, id }: FileKey) => sql<FileRow>`
  select ${columns} from file f left join file_content c on c.id = f.content_id
  where f.id = ${id} and f.project_id = ${projectId} for update of f`

/** Which files to list, the newest first. */
export interface FileQuery {
  readonly projectId: string
  readonly name: string | null
  readonly sha256: string | null
  readonly state: 'waiting' | 'ready' | null
  /** Only files with a lower id. */
  readonly before: string | null
  readonly limit: number
}

export const listFiles = ({ projectId, name, sha256, state, before, limit }: FileQuery) => sql<FileRow>`
  select ${columns} from file f left join file_content c on c.id = f.content_id
  where f.project_id = ${projectId}
    ${name === null ? part`` : part`and f.name = ${name}`}
    ${sha256 === null ? part`` : part`and f.sha256 = ${sha256}`}
    ${state === null ? part`` : state === 'ready' ? part`and f.ready_at is not null` : part`and f.ready_at is null`}
    ${before === null ? part`` : part`and f.id < ${before}::uuid`}
  order by f.id desc limit ${limit}`

/** Sets the content of a file that is not ready: null, or the content of an upload that begins. */
export const setFileContent = ({ id, contentId }: { id: string; contentId: string | null }) => sql`
  update file set content_id = ${contentId}::uuid where id = ${id} and ready_at is null`

/** Makes a file ready; no row if another upload has begun, or the file was deleted. */
export const makeFileReady = (ready: {
  readonly id: string
  /** The content that the upload has filled. */
  readonly uploadedId: string
  /** The content that the file gets: the uploaded one, or the same bytes stored before. */
  readonly contentId: string
  readonly size: number
  readonly sha256: string
}) => sql<{ id: string }>`
  update file set content_id = ${ready.contentId}, size = ${ready.size}::bigint, sha256 = ${ready.sha256},
                  ready_at = now(), used_at = now()
  where id = ${ready.id} and content_id = ${ready.uploadedId} and ready_at is null
  returning id`

/** The use of a file is recorded at most once an hour. */
const NOTED_EVERY_MINUTES = 60

export const noteFileUsed = (id: string) => sql`
  update file set used_at = now()
  where id = ${id} and used_at < now() - make_interval(mins => ${NOTED_EVERY_MINUTES})`

export const deleteFile = ({ projectId, id }: FileKey) => sql<{ id: string }>`
  with unused as (delete from file_use where file_id = ${id})
  delete from file where id = ${id} and project_id = ${projectId} returning id`

/** Returns a row while the attempt holds its lease. */
export const isAttemptLive = ({ runId, fence }: { runId: string; fence: number }) => sql<{ runId: string }>`
  select run_id as "runId" from agenda where run_id = ${runId} and fence = ${fence}::integer and state = 'running'`
