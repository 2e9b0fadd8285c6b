import type { TaskDefinition } from './task.ts'

/**
 * Lanes keep apart what is claimed differently. Runs of the open lane may be claimed a little ahead of a
 * free place; a run that must happen at most once is claimed only when it can start, because a worker
 * that dies holding it has spent its only attempt.
 */
export const LANES = { open: 0, strict: 1 } as const

export function laneOf(definition: TaskDefinition): number {
  return definition.onWorkerLoss === 'fail' ? LANES.strict : LANES.open
}
