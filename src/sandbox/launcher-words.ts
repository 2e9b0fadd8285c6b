import { LAUNCHER } from './launcher.ts'
import type { OutputStream, RunOptions } from './sandbox.ts'

/** Launchers fail with these when they cannot become the program. */
const CANNOT_EXECUTE = [126, 127]
const KEPT_BYTES = 1_024

/**
 * Keeps the beginning of what comes from standard error on its way to the listener, because launchers complain there, and says
 * whether it was a complaint. A program that imitates one only makes its own failure look like another.
 */
export class LauncherWords implements RunOptions {
  readonly #options: RunOptions
  #start = Buffer.alloc(0)
  #failure: string | null = null

  constructor(options: RunOptions) {
    this.#options = options
  }

  get signal(): RunOptions['signal'] {
    return this.#options.signal
  }

  readonly isUrgent = (): boolean => this.#options.isUrgent?.() ?? false

  readonly onOutput = (stream: OutputStream, chunk: Buffer): void | Promise<void> => {
    if (stream === 'stderr' && this.#start.length < KEPT_BYTES)
      this.#start = Buffer.concat([this.#start, chunk.subarray(0, KEPT_BYTES - this.#start.length)])
    return this.#options.onOutput(stream, chunk)
  }

  /** Something failed on this side. */
  add(error: Error): void {
    this.#failure ??= error.message
  }

  /** Why nothing was started, as far as anybody said. */
  get complaint(): string | null {
    return this.#failure ?? (this.#start.toString('utf8').trim() || null)
  }

  /** What the last launcher said if an exit code is its own. */
  complaintOf(code: number): string | null {
    const said = this.complaint
    return CANNOT_EXECUTE.includes(code) && said?.startsWith(`${LAUNCHER}: `) ? said : null
  }
}
