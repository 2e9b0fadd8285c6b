import { performance } from 'node:perf_hooks'
import { printable } from '../../core/values/printable.ts'

/** Without a terminal, lines are printed at increasing intervals. */
const FIRST_PAUSE_MS = 2_000
const LONGEST_PAUSE_MS = 30_000
const USUAL_COLUMNS = 80

/** The output stream: a terminal or anything else. */
export interface ProgressStream {
  readonly isTTY?: boolean
  readonly columns?: number
  write(text: string): unknown
}

/** Shows progress: on a terminal in one line that is rewritten, elsewhere in a new line now and then. */
export class ProgressLine {
  readonly #stream: ProgressStream
  #shown = ''
  #nextAt = 0
  #pauseMs = FIRST_PAUSE_MS

  constructor(stream: ProgressStream = process.stderr) {
    this.#stream = stream
  }

  show(words: string, now = performance.now()): void {
    const text = printable(words)
    if (text === this.#shown) return
    // A terminal that does not know its width reports 0.
    if (this.#stream.isTTY) this.#rewrite(text.slice(0, (this.#stream.columns || USUAL_COLUMNS) - 1))
    else {
      if (now < this.#nextAt) return
      this.#stream.write(`${text}\n`)
      this.#nextAt = now + this.#pauseMs
      this.#pauseMs = Math.min(LONGEST_PAUSE_MS, this.#pauseMs * 2)
    }
    this.#shown = text
  }

  /** Clears the line: the final result is printed separately. */
  end(): void {
    if (this.#stream.isTTY && this.#shown !== '') this.#rewrite('')
    this.#shown = ''
  }

  #rewrite(text: string): void {
    this.#stream.write(`\r\u001b[2K${text}`)
  }
}
