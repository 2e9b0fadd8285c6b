import type { CatchUpStart } from '../store/agenda/catch-up.ts'
import type { Due } from './due-queue.ts'

/** Runs closer together than this are treated as simultaneous: one statement fires them, and one claim takes them. */
export const FINEST_MS = 20

/** A catch-up row that has to wait for its task's rate, and until when. */
export interface Postponed {
  readonly due: Due
  readonly at: number
}

/**
 * Decides which catch-up rows may be fired now, and when the others may. The rate of a task limits the starts of runs, so each row
 * counts from the start of the previous run; while that run waits for a worker, none follows. Pure.
 */
export function paceCatchUp(
  rows: readonly Due[],
  starts: ReadonlyMap<string, CatchUpStart>,
  now: number,
): { readonly fired: readonly Due[]; readonly postponed: readonly Postponed[] } {
  const nextAt = new Map<string, number>()
  const fired: Due[] = []
  const postponed: Postponed[] = []
  for (const due of rows.toSorted((a, b) => a.row.scheduledFor - b.row.scheduledFor)) {
    const { taskId } = due.row
    const everyMs = 1_000 / due.definition.misfire.rate
    const at = nextAt.get(taskId) ?? firstAt(starts.get(taskId), everyMs, now)
    if (at <= now || everyMs < FINEST_MS) fired.push(due)
    else postponed.push({ due, at })
    nextAt.set(taskId, Math.max(at, now) + everyMs)
  }
  return { fired, postponed }
}

function firstAt(start: CatchUpStart | undefined, everyMs: number, now: number): number {
  if (start?.isWaiting) return now + everyMs
  return start?.startedAt == null ? now : start.startedAt + everyMs
}
