/** One word and one mark for each state, as in the dashboard. No state is distinguished by colour alone. */
import { onStdout as c } from '../terminal.ts'

const plain = (text: string) => text

const LOOKS: Readonly<Record<string, readonly [mark: string, paint: (text: string) => string]>> = {
  scheduled: ['◔', plain],
  pending: ['◑', c.magenta],
  running: ['●', c.blue],
  retrying: ['↻', c.yellow],
  completed: ['✓', c.green],
  finished: ['✓', c.dim],
  failed: ['✕', c.yellow],
  timed_out: ['✕', c.yellow],
  worker_lost: ['!', c.yellow],
  permanently_failed: ['✕', c.red],
  skipped: ['⊘', c.dim],
  cancelled: ['–', c.dim],
  paused: ['‖', c.dim],
}

export function markOf(state: string): string {
  const [mark, paint] = LOOKS[state] ?? ['·', plain]
  return paint(mark)
}

/** Formats a state as `✕ permanently failed`, with the reason if there is one. */
export function stateWords(state: string, reason: string | null = null): string {
  const [mark, paint] = LOOKS[state] ?? ['·', plain]
  return paint(`${mark} ${state.replaceAll('_', ' ')}${reason === null ? '' : `: ${reason}`}`)
}
