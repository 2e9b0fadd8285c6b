/** Uploads and downloads: with a progress display, an idle timeout, and resumption after a failure. */
import { setTimeout as delay } from 'node:timers/promises'
import { sizeWords } from '../../core/words/size.ts'
import { ProgressLine } from './progress-line.ts'
import { NO_TRIES, pauseAfter } from './transfer-pause.ts'

/** A connection without any data for this long is aborted. The server takes up to this long to complete the largest file. */
const IDLE_MS = 120_000
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

  /** Shows why nothing moves now. */
  showWait(reason: string): void {
    this.#line.show(`Waiting: ${reason}`)
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
 * Retries until `attempt` succeeds, or until it has failed several times in a row without progress. `attempt` gets whether it
 * is a retry, and reports progress through the callback.
 */
export async function persist<T>(
  progress: TransferProgress,
  attempt: (isRetry: boolean, onProgress: () => void) => Promise<T>,
): Promise<T> {
  let tries = NO_TRIES
  for (let isRetry = false; ; isRetry = true) {
    try {
      return await attempt(isRetry, () => {
        tries = NO_TRIES
      })
    } catch (error) {
      const next = pauseAfter(error, tries)
      if (next === null) throw error
      if (next.tries.waitedMs > tries.waitedMs) progress.showWait((error as Error).message)
      tries = next.tries
      await delay(next.pauseMs)
    }
  }
}
