/**
 * Decides what happens to a run whose worker is lost during an attempt. It is unknown how far the attempt came, so the task
 * decides. This is the only implementation: the reaper applies it to the runs of dead workers, and a worker to its own attempts
 * when it could not renew its lease.
 */

import type { KeptDefinition, WorkerLossPolicy } from '../task/task.ts'
import { mayRetry } from './retry-policy.ts'

/** A run that has lost this many workers is not retried, whatever its task says. */
export const MAX_LOSSES = 5

/** A lost attempt. `losses` counts the losses before it. */
export interface LostAttempt {
  readonly onWorkerLoss: WorkerLossPolicy
  readonly retryLimit: number
  readonly attempt: number
  readonly losses: number
}

/** How a worker was lost, for the errors of attempts and runs. */
export const LOSS = {
  silent: 'The worker of this run stopped sending heartbeats',
  uncertain: 'The worker could not renew its lease and stopped the attempt',
} as const

/** The error of a run that ended because of a loss. */
export const lossError = (how: keyof typeof LOSS, reason: string) => ({
  code: 'worker_lost',
  message: `${LOSS[how]}, ${reason}.`,
})

/** Why a run is not retried after a loss, as the end of a sentence; null if it is retried. */
export function endAfterLoss(lost: LostAttempt): string | null {
  const { onWorkerLoss, retryLimit, losses } = lost
  if (onWorkerLoss === 'fail') return 'and the task is configured to run at most once'
  if (onWorkerLoss === 'count' && !mayRetry({ limit: retryLimit }, failedAttempts(lost)))
    return `which counts as a failed attempt, and the retry limit of ${retryLimit} is reached`
  if (losses + 1 >= MAX_LOSSES)
    return `and the run has lost its worker ${MAX_LOSSES} times, which is the limit`
  return null
}

/** How many attempts of a run count against its retries, including the latest one. */
export const failedAttempts = ({
  onWorkerLoss,
  attempt,
  losses,
}: Pick<LostAttempt, 'onWorkerLoss' | 'attempt' | 'losses'>): number =>
  onWorkerLoss === 'count' ? attempt : attempt - losses

/** Whether the task requires that a run which may have started never starts again. */
export const runsAtMostOnce = ({
  onWorkerLoss,
  retry,
}: Pick<KeptDefinition, 'onWorkerLoss' | 'retry'>): boolean =>
  onWorkerLoss === 'fail' || (onWorkerLoss === 'count' && retry.limit === 0)
