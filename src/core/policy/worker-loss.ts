/**
 * What becomes of a run whose worker is lost in the middle of an attempt. Nobody knows how far the attempt came, so it is for
 * the task to say. This is the one rule: the reaper follows it for the dead, and a worker for attempts it cannot vouch for.
 */

import type { KeptDefinition, WorkerLossPolicy } from '../task/task.ts'
import { mayRetry } from './retry-policy.ts'

/** A run that took its worker down this often is not tried again, whatever its task says. */
export const MAX_LOSSES = 5

/** An attempt that was lost; `losses` are those before it. */
export interface LostAttempt {
  readonly onWorkerLoss: WorkerLossPolicy
  readonly retryLimit: number
  readonly attempt: number
  readonly losses: number
}

/** How a worker was lost, as errors of attempts and runs say it. */
export const LOSS = {
  silent: 'The worker of this run stopped sending heartbeats',
  uncertain: 'The worker could not renew its lease and stopped the attempt',
} as const

/** The error of a run that a loss ended. */
export const lossError = (how: keyof typeof LOSS, reason: string) => ({
  code: 'worker_lost',
  message: `${LOSS[how]}, ${reason}.`,
})

/** Why a run is not tried again after a loss, to stand behind what happened; null: it is. */
export function endAfterLoss(lost: LostAttempt): string | null {
  const { onWorkerLoss, retryLimit, losses } = lost
  if (onWorkerLoss === 'fail') return 'and the task is configured to run at most once'
  if (onWorkerLoss === 'count' && !mayRetry({ limit: retryLimit }, failedAttempts(lost)))
    return `which counts as a failed attempt, and the retry limit of ${retryLimit} is reached`
  if (losses + 1 >= MAX_LOSSES)
    return `and the run has lost its worker ${MAX_LOSSES} times, which is the limit`
  return null
}

/** How many attempts of a run count against its retries, the latest one included. */
export const failedAttempts = ({
  onWorkerLoss,
  attempt,
  losses,
}: Pick<LostAttempt, 'onWorkerLoss' | 'attempt' | 'losses'>): number =>
  onWorkerLoss === 'count' ? attempt : attempt - losses

/** Whether a task says that what may have run must not run again. */
export const runsAtMostOnce = ({
  onWorkerLoss,
  retry,
}: Pick<KeptDefinition, 'onWorkerLoss' | 'retry'>): boolean =>
  onWorkerLoss === 'fail' || (onWorkerLoss === 'count' && retry.limit === 0)
