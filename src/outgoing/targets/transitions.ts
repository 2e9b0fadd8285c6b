/** Circuit states exchanged between nodes. Instants are on the clock of the book that sends or receives them. */
import type { CircuitChange } from './circuit.ts'
import type { Line } from './target-line.ts'

/** Maximum number of undrained transitions; the oldest are dropped. */
const MAX_KEPT = 10_000

type CallError = { readonly code: string; readonly message: string }

/** A circuit that is open on another node. */
export interface SharedCircuit {
  readonly projectId: string
  readonly target: string
  readonly openedAt: number
  readonly until: number
  readonly error: CallError | null
}

/** A circuit of this node that opened, is being probed, stays open because its probe failed, or closed. */
export interface CircuitTransition {
  readonly projectId: string
  readonly target: string
  readonly change: 'opened' | 'reopened' | 'probing' | 'closed'
  readonly at: number
  readonly openedAt: number
  /** When the next probe is due, or the current one is abandoned; null once the circuit is closed. */
  readonly until: number | null
  readonly error: CallError | null
}

export class Transitions {
  #kept: CircuitTransition[] = []

  add({ projectId, target, circuit }: Line, change: CircuitChange, at: number): void {
    if (circuit === null || change === 'probe_due' || change === 'unlearned') return
    const { openedAt, error } = circuit
    const until = change === 'closed' ? null : circuit.changesAt
    if (this.#kept.length >= MAX_KEPT) this.#kept.splice(0, MAX_KEPT / 10)
    this.#kept.push({ projectId, target, change, at, openedAt, until, error })
  }

  drain(): readonly CircuitTransition[] {
    const drained = this.#kept
    this.#kept = []
    return drained
  }
}
