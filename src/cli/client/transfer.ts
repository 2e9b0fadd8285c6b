/** Uploads and downloads: with a progress display, an idle timeout, and resumption after a failure. */
import { setTimeout as delay } from 'node:timers/promises'
import { sizeWords } from '../../core/words/size.ts'
import { CliError, EXIT } from '../exit.ts'
import { RefusedError } from './problem.ts'
import { ProgressLine } from './progress-line.ts'

/** A connection without any data for this long is aborted. The server takes up to this long to complete the largest file. */
const IDLE_MS = 120_000
/** Maximum number of consecutive failures without progress. */
const MAX_FAILURES = 6
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 8_000
const BAR_CHARACTERS = 20

/** Shows the progress of a transfer. */
export class TransferProgress {
  readonly #line = new ProgressLine()
  readonly #startedAt = performance.now()
  readonly #verb: string
  readonly #total: number
  #first: number | null = null

  constructor(verb: string, total: number) {
    this.#verb = verb
    this.#total = total
  }

  show(done: number): void {
    this.#first ??= done
    const seconds = Math.max(0.001, (performance.now() - this.#startedAt) / 1_000)
    const rate = sizeWords(Math.round((done - this.#first) / seconds))
    const share = Math.floor((100 * done) / this.#total)
    const bar = process.stderr.isTTY ? `${barOf(done / this.#total)} ` : ''
    this.#line.show(
      `${this.#verb}  ${bar}${share} %  ${sizeWords(done)} of ${sizeWords(this.#total)}  ${rate}/s`,
    )
  }

  end(): void {
    this.#line.end()
  }
}

function barOf(share: number): string {
  const filled = Math.round(BAR_CHARACTERS * Math.min(1, share))
  return '█'.repeat(filled) + '░'.repeat(BAR_CHARACTERS - filled)
}

/** Aborts a request when no data has moved for a while. */
export class IdleLimit {
  readonly #controller = new AbortController()
  readonly #timer = setTimeout(() => this.#controller.abort(), IDLE_MS)

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Restarts the timeout: data has moved. */
  touch(): void {
    this.#timer.refresh()
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

/**
 * Retries until `attempt` succeeds, or until it has failed several times in a row without progress. `attempt` is told whether
 * it is a retry, and reports progress through the callback.
 */
export async function persist<T>(
  attempt: (isRetry: boolean, onProgress: () => void) => Promise<T>,
): Promise<T> {
  let failures = 0
  for (let isRetry = false; ; isRetry = true) {
    try {
      return await attempt(isRetry, () => {
        failures = 0
      })
    } catch (error) {
      if (!mayPass(error) || ++failures > MAX_FAILURES) throw error
      await delay(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** (failures - 1)))
    }
  }
}

/** Whether to retry: the server was unreachable or busy, or an upload is at another position, from which it continues. */
const mayPass = (error: unknown): boolean =>
  error instanceof RefusedError
    ? error.problem.status === 503 || error.problem.code === 'upload_conflict'
    : error instanceof CliError && error.exitCode === EXIT.unreachable
