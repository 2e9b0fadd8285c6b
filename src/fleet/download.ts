/** Reads a file from an api node, by an address that was signed for one attempt. It is read as it comes and never whole in memory. */
import http from 'node:http'
import https from 'node:https'
import type { StopSignal } from '../runtime/stop-signal.ts'

/** Where to read from, and whom to trust. */
export interface DownloadOptions {
  /** Addresses of the same file on several servers, which are tried in turn. */
  readonly urls: readonly string[]
  /** Certificates to trust, in PEM form; null for those of Node.js. */
  readonly ca: string | null
  readonly signal: StopSignal
}

/** A server refuses the address, and any other would. */
export class DownloadRefused extends Error {
  override readonly name = 'DownloadRefused'
}

/** A server that sends nothing for so long is given up. */
const SILENT_MS = 15_000
/** How often a download is begun or continued; each time waits longer. */
const MAX_TRIES = 6
const BACKOFF_MS = { first: 200, longest: 3_000 }

/** The bytes of the file. What breaks off goes on where it was. */
export async function* download(options: DownloadOptions): AsyncGenerator<Buffer, void, undefined> {
  let received = 0
  for (let tries = 1; ; tries++) {
    try {
      for await (const bytes of await open(options, tries, received)) {
        received += bytes.length
        yield bytes
      }
      return
    } catch (error) {
      if (error instanceof DownloadRefused || options.signal.aborted || tries === MAX_TRIES) throw error
    }
    await pause(Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** (tries - 1)))
  }
}

function open(
  { urls, ca, signal }: DownloadOptions,
  tries: number,
  from: number,
): Promise<AsyncIterable<Buffer>> {
  const url = new URL(urls[(tries - 1) % urls.length] ?? '')
  const { get } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const sent = get(url, {
      headers: from === 0 ? {} : { range: `bytes=${from}-` },
      ...(ca === null ? {} : { ca }),
    })
    const stop = () => sent.destroy(new Error('the attempt was stopped'))
    signal.addEventListener('abort', stop)
    sent.setTimeout(SILENT_MS, () =>
      sent.destroy(new Error(`${url.host} sent nothing for ${SILENT_MS / 1_000} s`)),
    )
    sent.on('error', reject)
    sent.on('close', () => signal.removeEventListener('abort', stop))
    sent.on('response', (answer) => {
      const { statusCode: status = 0 } = answer
      if (status === (from === 0 ? 200 : 206)) return resolve(answer)
      answer.resume()
      const why = `${url.host} answered ${status}`
      reject(status >= 400 && status < 500 && status !== 429 ? new DownloadRefused(why) : new Error(why))
    })
  })
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
