/**
 * getaddrinfo, for names that only the system knows. It blocks one of the four threads of the process, which file access and
 * cryptography also use, so names occupy at most two of them, however many hang.
 */
import { lookup } from 'node:dns'

export const MAX_LOOKUP_THREADS = 2
/** Maximum number of names that wait for a thread; further ones cannot be resolved now. */
export const MAX_WAITING_LOOKUPS = 1_000

/** Addresses in getaddrinfo's order, or its error code. */
export type ThreadAnswer = readonly string[] | { readonly code: string }

export class ThreadLookups {
  readonly #waiting = new Set<() => void>()
  #running = 0

  /** Number of threads in use. */
  get running(): number {
    return this.#running
  }

  /**
   * Resolves when the system has answered; `onCancel` receives a function that cancels the lookup while it still waits for a
   * thread.
   */
  async ask(name: string, onCancel: (cancel: () => void) => void): Promise<ThreadAnswer> {
    if (!(await this.#thread(onCancel))) return { code: 'EAI_AGAIN' }
    return new Promise((resolve) => {
      lookup(name, { all: true }, (error, found) => {
        this.#running--
        this.#next()
        resolve(error ? { code: error.code ?? 'EAI_FAIL' } : found.map(({ address }) => address))
      })
    })
  }

  /** Waits for a thread; resolves to false if there will be none. */
  async #thread(onCancel: (cancel: () => void) => void): Promise<boolean> {
    if (this.#running < MAX_LOOKUP_THREADS) {
      this.#running++
      return true
    }
    if (this.#waiting.size >= MAX_WAITING_LOOKUPS) return false
    return new Promise((resolve) => {
      const start = () => {
        this.#running++
        resolve(true)
      }
      this.#waiting.add(start)
      onCancel(() => this.#waiting.delete(start) && resolve(false))
    })
  }

  #next(): void {
    const [start] = this.#waiting
    if (start === undefined) return
    this.#waiting.delete(start)
    start()
  }
}
