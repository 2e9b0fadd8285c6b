/** Files: programs and other content that tasks use. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query'
import { projectHeader } from './chosen-project.ts'
import { ApiError, ask, type ChangeOptions, get, post, queryOf } from './client.ts'
import type { CreatedFile, FileInUse, Page, Problem, StoredFile } from './wire.ts'

const FILE_PAGE_SIZE = 100

/** Filters of the list of files. */
export interface FileFilter {
  readonly name?: string | undefined
  readonly state?: StoredFile['state'] | undefined
}

export const fileKeys = {
  lists: ['files'] as const,
  one: (id: string) => ['file', id] as const,
}

export const filesQuery = (filter: FileFilter) =>
  infiniteQueryOptions({
    queryKey: [...fileKeys.lists, filter],
    queryFn: ({ pageParam, signal }) =>
      get<Page<StoredFile>>(
        `/v1/files${queryOf({ ...filter, limit: FILE_PAGE_SIZE, cursor: pageParam })}`,
        signal,
      ),
    initialPageParam: null as string | null,
    getNextPageParam: ({ nextCursor }) => nextCursor,
  })

export const fileQuery = (id: string) =>
  queryOptions({
    queryKey: fileKeys.one(id),
    queryFn: ({ signal }) => get<FileInUse>(`/v1/files/${encodeURIComponent(id)}`, signal),
  })

export const deleteFile = (id: string, options?: ChangeOptions): Promise<unknown> =>
  ask('DELETE', `/v1/files/${encodeURIComponent(id)}`, options)

/** Downloads the content under the file's name. A plain link could not send the project header. */
export async function downloadFile({ id, name }: Pick<StoredFile, 'id' | 'name'>): Promise<void> {
  const path = `/v1/files/${encodeURIComponent(id)}/content`
  const answer = await fetch(path, { headers: projectHeader(path) })
  if (!answer.ok) throw new ApiError((await answer.json()) as Problem)
  const link = document.createElement('a')
  link.href = URL.createObjectURL(await answer.blob())
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

export interface UploadOptions {
  /** Receives the fraction that has been sent, from 0 to 1. */
  readonly onProgress: (fraction: number) => void
  readonly signal: AbortSignal
}

/** Creates the file and uploads its content. The upload URL is signed and needs neither key nor session. */
export async function uploadFile(file: File, { onProgress, signal }: UploadOptions): Promise<StoredFile> {
  const created = await post<CreatedFile>('/v1/files', { name: file.name, size: file.size })
  if (created.uploadUrl === null) return created
  // Behind a proxy the server may know itself by a different host name than the browser does, so only path and query are used.
  const { pathname, search } = new URL(created.uploadUrl)
  return send(`${pathname}${search}`, file, { onProgress, signal })
}

/** Uses XMLHttpRequest because `fetch` does not report upload progress. */
function send(path: string, file: File, { onProgress, signal }: UploadOptions): Promise<StoredFile> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('PUT', path)
    request.setRequestHeader('content-type', 'application/octet-stream')
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total)
    request.onload = () => {
      if (request.status < 300) resolve(JSON.parse(request.responseText) as StoredFile)
      else reject(new ApiError(problemIn(request)))
    }
    request.onerror = () => reject(new ApiError(interrupted))
    request.onabort = () => reject(signal.reason)
    signal.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

function problemIn({ responseText, status, statusText }: XMLHttpRequest): Problem {
  try {
    return JSON.parse(responseText) as Problem
  } catch {
    return { title: 'The upload was refused', detail: `${status} ${statusText}`, status, code: 'unreadable' }
  }
}

const interrupted: Problem = {
  title: 'The upload was interrupted',
  detail: 'The server did not receive the whole file. Upload it again.',
  status: 0,
  code: 'unreachable',
}
