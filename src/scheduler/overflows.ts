import type { Line } from '../transport/local-worker.ts'
import { Overflow } from './overflow.ts'

/** The overflow of each line of which more is due than there is room for. */
export class Overflows {
  readonly #ofLines = new Map<string, Overflow>()

  of({ id }: Line): Overflow {
    const known = this.#ofLines.get(id) ?? new Overflow()
    this.#ofLines.set(id, known)
    return known
  }

  /** Whether what is due of a line has been waiting for room for long. */
  isStuck({ id }: Line): boolean {
    return this.#ofLines.get(id)?.isStuck === true
  }

  /** There is room again for all that is due. */
  forget({ id }: Line): void {
    this.#ofLines.delete(id)
  }
}
