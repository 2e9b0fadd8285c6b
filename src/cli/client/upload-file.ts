/** Uploads a local file. Content that this or an earlier call has already uploaded is not sent again. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { CreatedFile, File } from '../../api/resources/files/schemas.ts'
import { CliError, EXIT } from '../exit.ts'
import { namingAll } from './refusal.ts'
import { queryOf, type Server } from './server.ts'
import { IdleLimit, persist, TransferProgress } from './transfer.ts'

const READ_BYTES = 256 * 1024
/** Maximum number of files with the same name and content to examine. */
const MAX_SAME = 100

/** Result of an upload. */
export interface UploadedFile {
  readonly file: File
  /** Number of bytes sent. */
  readonly sentBytes: number
}

export async function uploadLocalFile(
  server: Server,
  path: string,
  { name = basename(path) }: { readonly name?: string | undefined } = {},
): Promise<UploadedFile> {
  const announced = { name, ...(await measured(path)) }
  const begun = await namingAll(
    'belfry file upload --help',
    async () =>
      (await unfinished(server, announced)) ?? (await server.post<CreatedFile>('/v1/files', announced)),
  )
  if (begun.state === 'ready') return { file: begun, sentBytes: 0 }
  const progress = new TransferProgress('Uploading', announced.size)
  let received = begun.receivedBytes
  const before = received
  try {
    const file = await persist(progress, async (isRetry, onProgress) => {
      if (isRetry) {
        const now = await server.get<File>(`/v1/files/${begun.id}`)
        if (now.state === 'ready') return now
        if (now.receivedBytes > received) onProgress()
        received = now.receivedBytes
      }
      return send(server, begun.id, { path, size: announced.size, from: received, progress })
    })
    return { file, sentBytes: announced.size - before }
  } finally {
    progress.end()
  }
}

/** Returns the size and hash of a local file. */
export async function measured(path: string): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  let size = 0
  try {
    if (!(await stat(path)).isFile()) throw new Error('it is not a regular file')
    for await (const bytes of createReadStream(path, { highWaterMark: READ_BYTES })) {
      hash.update(bytes as Buffer)
      size += (bytes as Buffer).length
    }
  } catch (error) {
    throw new CliError(
      `Cannot read ${path}: ${(error as Error).message}.`,
      'Give the path of a file.',
      EXIT.usage,
    )
  }
  if (size === 0) throw new CliError(`${path} is empty.`, 'Give the path of a file with content.', EXIT.usage)
  return { size, sha256: hash.digest('hex') }
}

/** Identity of a file: its name and its content. */
export interface FileContent {
  readonly name: string
  readonly size: number
  readonly sha256: string
}

/** Returns a file of the project with this name and content: the one with the given id if it is among them, else the newest. */
export async function uploadedFile(
  server: Server,
  { name, size, sha256 }: FileContent,
  id: string | undefined,
): Promise<File | undefined> {
  const query = queryOf({ name, sha256, state: 'ready', limit: MAX_SAME })
  const { items } = await server.get<{ items: readonly File[] }>(`/v1/files${query}`)
  const same = items.filter((file) => file.size === size)
  return same.find((file) => file.id === id) ?? same[0]
}

/** Returns an earlier, interrupted upload of the same file. */
async function unfinished(server: Server, { name, size, sha256 }: FileContent): Promise<File | undefined> {
  const query = queryOf({ name, sha256, state: 'waiting', limit: 10 })
  const { items } = await server.get<{ items: readonly File[] }>(`/v1/files${query}`)
  return items.find((file) => file.size === size && file.receivedBytes > 0)
}

/** Sends a file from a position to its end. */
async function send(
  server: Server,
  id: string,
  { path, size, from, progress }: { path: string; size: number; from: number; progress: TransferProgress },
): Promise<File> {
  const idle = new IdleLimit()
  async function* bytes() {
    let sent = from
    progress.show(sent)
    for await (const piece of createReadStream(path, {
      start: from,
      end: size - 1,
      highWaterMark: READ_BYTES,
    })) {
      yield piece as Buffer
      sent += (piece as Buffer).length
      idle.touch()
      progress.show(sent)
    }
  }
  const range = from === size ? `bytes */${size}` : `bytes ${from}-${size - 1}/${size}`
  try {
    const answer = await server.transfer('PUT', `/v1/files/${id}/content`, {
      headers: {
        'content-type': 'application/octet-stream',
        ...(from === 0 ? {} : { 'content-range': range }),
      },
      ...(from === size ? {} : { body: bytes() }),
      signal: idle.signal,
    })
    return (await server.read(answer)) as File
  } finally {
    idle.end()
  }
}
