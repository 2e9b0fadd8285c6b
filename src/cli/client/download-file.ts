/** Downloads a file to this machine. After a lost connection, the download resumes where it stopped. */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { File } from '../../api/resources/files/schemas.ts'
import { CliError, EXIT } from '../exit.ts'
import type { Server } from './server.ts'
import { IdleLimit, persist, TransferProgress } from './transfer.ts'

/** Downloads to a path. The file appears there only once it is complete. */
export async function downloadTo(server: Server, file: File, path: string): Promise<void> {
  const part = `${path}.part`
  const output = createWriteStream(part)
  try {
    // Fails before the request is sent if the path cannot be written.
    await once(output, 'open')
    await downloadInto(server, file, output)
    output.end()
    await finished(output)
    await rename(part, path)
  } catch (error) {
    output.destroy()
    await rm(part, { force: true })
    if (error instanceof CliError) throw error
    throw new CliError(
      `Cannot write ${path}: ${(error as Error).message}.`,
      'Choose another path with --output.',
      EXIT.failed,
    )
  }
}

/** Downloads into a stream and verifies the SHA-256 of the content. */
export async function downloadInto(
  server: Server,
  { id, size, sha256 }: File,
  output: Writable,
): Promise<void> {
  const total = size ?? 0
  const hash = createHash('sha256')
  const progress = new TransferProgress('Downloading', total)
  let received = 0
  try {
    await persist(progress, async (_, onProgress) => {
      for await (const bytes of bytesFrom(server, id, received)) {
        hash.update(bytes)
        received += bytes.length
        if (!output.write(bytes)) await once(output, 'drain')
        onProgress()
        progress.show(received)
      }
      if (received < total)
        throw new CliError('The connection was interrupted.', 'Try again.', EXIT.unreachable)
    })
  } finally {
    progress.end()
  }
  if (hash.digest('hex') !== sha256)
    throw new CliError(
      'The download is damaged: its SHA-256 does not match the file.',
      'Download it again.',
      EXIT.failed,
    )
}

const BROKEN_OFF = { done: true, value: undefined }

async function* bytesFrom(server: Server, id: string, from: number): AsyncGenerator<Buffer> {
  const idle = new IdleLimit()
  try {
    const answer = await server.transfer('GET', `/v1/files/${id}/content`, {
      headers: from === 0 ? {} : { range: `bytes=${from}-` },
      signal: idle.signal,
    })
    const arriving = answer.bytes()
    for (;;) {
      // A broken connection ends the iteration here; the caller compares the bytes received with the size.
      const { done, value } = await arriving.next().catch(() => BROKEN_OFF)
      if (done || !value) return
      idle.touch()
      yield value
    }
  } finally {
    idle.end()
  }
}
