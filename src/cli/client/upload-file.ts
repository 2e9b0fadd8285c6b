/** Uploading a file of this machine. What was uploaded before, by this call or an earlier one, is not sent again. */
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

/** What became of it. */
export interface UploadedFile {
  readonly file: File
  /** Bytes that were sent. */
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
    const file = await persist(async (isRetry, onProgress) => {
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

/** Size and hash of a file. */
async function measured(path: string): Promise<{ size: number; sha256: string }> {
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

/** An earlier upload of the same file that broke off. */
async function unfinished(
  server: Server,
  { name, size, sha256 }: { readonly name: string; readonly size: number; readonly sha256: string },
): Promise<File | undefined> {
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
    return (await answer.json()) as File
  } finally {
    idle.end()
  }
}
