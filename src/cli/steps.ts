import { printable } from '../core/values/printable.ts'
import { onStdout as pc, printOut } from './terminal.ts'

const LABEL_WIDTH = 10
const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const FRAME_MS = 80

/**
 * Shows one line per step: on a terminal the current step is animated and shows the elapsed seconds, in a pipe each step is
 * printed when done.
 */
export class Steps {
  readonly #isLive = process.stdout.isTTY === true
  #timer: NodeJS.Timeout | undefined
  #label = ''
  #text = ''
  #startedAt = 0

  title(text: string): void {
    process.stdout.write(`${pc.bold(text)}\n`)
  }

  begin(label: string, text: string): void {
    this.#label = label
    this.#text = text
    this.#startedAt = performance.now()
    if (!this.#isLive) return
    let frame = 0
    this.#timer = setInterval(() => {
      const seconds = ((performance.now() - this.#startedAt) / 1000).toFixed(1)
      process.stdout.write(
        `\r\x1b[K  ${FRAMES[frame++ % FRAMES.length]} ${this.#label.padEnd(LABEL_WIDTH)} ${this.#text} ${pc.dim(`${seconds} s`)}`,
      )
    }, FRAME_MS)
  }

  update(text: string): void {
    this.#text = printable(text)
  }

  done(label: string, text: string): void {
    const tookMs = this.#label === label ? performance.now() - this.#startedAt : 0
    this.clear()
    const took = tookMs >= 1_000 ? pc.dim(`  ${(tookMs / 1000).toFixed(1)} s`) : ''
    printOut(`  ${pc.green('✓')} ${label.padEnd(LABEL_WIDTH)} ${text}${took}\n`)
  }

  /** Prints something that is not a problem but worth knowing. */
  note(label: string, text: string): void {
    printOut(`  ${pc.yellow('!')} ${label.padEnd(LABEL_WIDTH)} ${text}\n`)
  }

  /** Clears the animated line. */
  clear(): void {
    if (!this.#timer) return
    clearInterval(this.#timer)
    this.#timer = undefined
    process.stdout.write('\r\x1b[K')
  }
}
