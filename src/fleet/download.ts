/**
 * Reads a file from an API node, at an address signed for one attempt. The file is streamed and never held in memory as a
 * whole.
 */
import http from 'node:http'
import https from 'node:https'
import type { StopSignal } from '../runtime/stop-signal.ts'

/** Source and certificates of a download. */
export interface DownloadOptions {
  /** Addresses of the same file on several servers, which are tried in turn. */
  readonly urls: readonly string[]
  /** Certificates to trust, in PEM form; null for those of Node.js. */
  readonly ca: string | null
  readonly signal: StopSignal
}

/** A server rejected the address, and every other server would too. */
export class DownloadRefused extends Error {
  override readonly name = 'DownloadRefused'
}

/** A server is overloaded; `waitMs` is the delay before the next attempt. */
class Busy extends Error {
  readonly waitMs: number

  constructor(message: string, retryAfter: string | undefined) {
    super(message)
    const askedMs = (Number(retryAfter) || 0) * 1_000
    this.waitMs = Math.min(Math.max(askedMs, BACKOFF_MS.first), BACKOFF_MS.busiest)
  }
}

/** Timeout for a server that sends no data. */
const SILENT_MS = 15_000
/** How long a download is retried without receiving data. A server that is restarted is back sooner. */
const PATIENCE_MS = 60_000
const BACKOFF_MS = { first: 200, longest: 3_000, busiest: 10_000 }

/**
 * Yields the bytes of the file. An interrupted download resumes where it stopped. If a whole fleet wants a file at once, busy
 * servers can postpone a download for minutes: it is retried until the address expires or the attempt ends.
 */
export async function* download(options: DownloadOptions): AsyncGenerator<Buffer, void, undefined> {
  let received = 0
  let heardAt = performance.now()
  for (let [failures, asked] = [0, 1]; ; asked++) {
    try {
      for await (const bytes of await open(options, asked, received)) {
        received += bytes.length
        yield bytes
        heardAt = performance.now()
        failures = 0
      }
      return
    } catch (error) {
      if (error instanceof DownloadRefused || options.signal.aborted) throw error
      if (error instanceof Busy) {
        await pause(error.waitMs * (0.5 + Math.random() / 2), options.signal)
        heardAt = performance.now()
      } else if (performance.now() - heardAt > PATIENCE_MS) throw error
      else await pause(Math.min(BACKOFF_MS.longest, BACKOFF_MS.first * 2 ** failures++), options.signal)
    }
  }
}

function open(
  { urls, ca, signal }: DownloadOptions,
  asked: number,
  from: number,
): Promise<AsyncIterable<Buffer>> {
  const url = new URL(urls[(asked - 1) % urls.length] ?? '')
  const { get } = url.protocol === 'https:' ? https : http
  return new Promise((resolve, reject) => {
    const sent = get(url, {
      headers: from === 0 ? {} : { range: `bytes=${from}-` },
      ...(ca === null ? {} : { ca }),
    })
    const stop = () => sent.destroy(new Error('the attempt was stopped'))
    signal.addEventListener('abort', stop)
    sent.setTimeout(SILENT_MS, () =>
      sent.destroy(new Error(`${url.host} sent no data for ${SILENT_MS / 1_000} s`)),
    )
    sent.on('error', reject)
    sent.on('close', () => signal.removeEventListener('abort', stop))
    sent.on('response', (answer) => {
      const { statusCode: status = 0 } = answer
      if (status === (from === 0 ? 200 : 206)) return resolve(answer)
      answer.resume()
      const why = `${url.host} answered ${status}`
      if (status === 429 || status === 503) reject(new Busy(why, answer.headers['retry-after']))
      else reject(status >= 400 && status < 500 ? new DownloadRefused(why) : new Error(why))
    })
  })
}

/** Waits, or returns early if the attempt is stopped. */
const pause = (ms: number, signal: StopSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
    if (signal.aborted) end()
  })
