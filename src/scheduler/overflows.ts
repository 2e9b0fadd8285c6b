import type { Line } from '../transport/local-worker.ts'
import { Overflow } from './overflow.ts'

/** The overflow of each line that has more due runs than room. */
export class Overflows {
  readonly #ofLines = new Map<string, Overflow>()

  of({ id }: Line): Overflow {
    const known = this.#ofLines.get(id) ?? new Overflow()
    this.#ofLines.set(id, known)
    return known
  }

  /** Whether the due runs of a line have waited for room for a long time. */
  isStuck({ id }: Line): boolean {
    return this.#ofLines.get(id)?.isStuck === true
  }

  /** Removes the overflow of a line that has room for all its due runs again. */
  forget({ id }: Line): void {
    this.#ofLines.delete(id)
  }
}
