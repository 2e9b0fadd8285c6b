import { z } from 'zod'
import { Uuid } from '../../../operations/validation/values.ts'
import type { Run } from '../runs/schemas.ts'
import type { Task } from '../tasks/schemas.ts'

export const WatchChanges = z.strictObject({
  project: z
    .string()
    .max(100)
    .optional()
    .describe('Project to watch, instead of the header `belfry-project`, which browsers cannot send.'),
  taskId: Uuid.optional().describe('Only changes of this task and its runs.'),
})

/** The data of the event `hello`, the first on every stream. */
export interface Hello {
  /** The server's time, for countdowns. */
  readonly now: string
  /** How long to wait before reopening a broken stream. */
  readonly retryMs: number
}

/** A run in a stream, without its output, which may be large and is read with the run. */
export type RunChange = Omit<z.output<typeof Run>, 'output'> & {
  /** The result in a few words: `HTTP 200`, the message of an error, or an empty string. */
  readonly outcome: string
}

/** A circuit that opened or closed. */
export interface CircuitEvent {
  readonly event: 'target.circuit_opened' | 'target.circuit_closed'
  readonly target: string
  readonly at: string
  /** When the next probe is due; null if the circuit is closed. */
  readonly nextProbeAt: string | null
  /** The error that opened it. */
  readonly error: { readonly code: string; readonly message: string } | null
}

/** The data of the event `changes`: what is new, as it is now. */
export interface Changes {
  readonly now: string
  /** Runs that were created, changed or ended, the latest first. */
  readonly runs: readonly RunChange[]
  /** Tasks that were created or changed, and the tasks of the runs. */
  readonly tasks: readonly z.output<typeof Task>[]
  readonly deletedTasks: readonly string[]
  /** Circuits of targets that opened or closed, the latest first. */
  readonly circuits: readonly CircuitEvent[]
  /** False if there are more changes than are listed; clients should then read their lists again. */
  readonly isComplete: boolean
}

/** The data of the event `reload`: changes may be missing from the stream, so clients should read everything again. */
export interface Reload {
  readonly now: string
  /** behind: the client did not read for long. too_old: it was disconnected for too long, or too much has happened since. */
  readonly reason: 'behind' | 'too_old'
}
