import { LAUNCHER } from './launcher.ts'
import type { OutputStream, RunOptions } from './sandbox.ts'

/** Exit codes of launchers that cannot execute the program. */
const CANNOT_EXECUTE = [126, 127]
const KEPT_BYTES = 1_024

/**
 * Keeps the beginning of standard error while passing it on, because launchers report errors there, and determines whether it
 * is such an error. A program that imitates one only disguises its own failure.
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

  /** Records a failure of this process. */
  add(error: Error): void {
    this.#failure ??= error.message
  }

  /** Why nothing was started, if known. */
  get complaint(): string | null {
    return this.#failure ?? (this.#start.toString('utf8').trim() || null)
  }

  /** Returns the launcher's error message if the exit code is the launcher's own; null otherwise. */
  complaintOf(code: number): string | null {
    const said = this.complaint
    return CANNOT_EXECUTE.includes(code) && said?.startsWith(`${LAUNCHER}: `) ? said : null
  }
}
