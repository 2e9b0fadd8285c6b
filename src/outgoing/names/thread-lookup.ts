/**
 * getaddrinfo, for names that only the system knows. It blocks one of the four threads of the process, which file access
 * and cryptography use as well: no more than two are ever taken by names, however many hang.
 */
import { lookup } from 'node:dns'

export const MAX_LOOKUP_THREADS = 2
/** Names that wait for one of them; further ones cannot be resolved now. */
export const MAX_WAITING_LOOKUPS = 1_000

/** Addresses in the order of getaddrinfo, or the code of its error. */
export type ThreadAnswer = readonly string[] | { readonly code: string }

export class ThreadLookups {
  readonly #waiting = new Set<() => void>()
  #running = 0

  /** Threads that are taken now. */
  get running(): number {
    return this.#running
  }

  /** Resolves when the system has answered; `onCancel` gets what takes a name back that has not been asked for. */
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

  /** Whether there is a thread for it, now or later. */
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
