/** The word, colour and shape of each state, the same on every screen. Colour is never the only sign. */
import type { Attempt, RunState, TaskState } from '../api/wire.ts'

export type Shape =
  | 'ring'
  | 'quarter'
  | 'half'
  | 'disc'
  | 'again'
  | 'check'
  | 'cross'
  | 'barred'
  | 'alert'
  | 'dash'
  | 'bars'

/** How a state is shown. The colour is the name of a CSS variable of the theme. */
export interface StateLook {
  readonly word: string
  readonly colour: string
  readonly shape: Shape
  /** Whether something is in progress, which is animated. */
  readonly moves?: boolean
}

export type AnyState = TaskState | RunState | Attempt['outcome'] | 'never_ran' | 'warning' | 'failing'

export const LOOKS: Readonly<Record<AnyState, StateLook>> = {
  never_ran: { word: 'never ran', colour: '--idle', shape: 'ring' },
  scheduled: { word: 'scheduled', colour: '--scheduled', shape: 'quarter' },
  pending: { word: 'pending', colour: '--pending', shape: 'half' },
  running: { word: 'running', colour: '--running', shape: 'disc', moves: true },
  retrying: { word: 'retrying', colour: '--retrying', shape: 'again' },
  completed: { word: 'completed', colour: '--completed', shape: 'check' },
  finished: { word: 'finished', colour: '--idle', shape: 'check' },
  failed: { word: 'failed attempt', colour: '--failed-attempt', shape: 'cross' },
  timed_out: { word: 'timed out', colour: '--failed-attempt', shape: 'cross' },
  worker_lost: { word: 'worker lost', colour: '--failed-attempt', shape: 'alert' },
  permanently_failed: { word: 'permanently failed', colour: '--failed', shape: 'cross' },
  failing: { word: 'failing', colour: '--failed', shape: 'cross' },
  skipped: { word: 'skipped', colour: '--idle', shape: 'barred' },
  warning: { word: 'warning', colour: '--warning', shape: 'alert' },
  cancelled: { word: 'cancelled', colour: '--idle', shape: 'dash' },
  paused: { word: 'paused', colour: '--idle', shape: 'bars' },
}
