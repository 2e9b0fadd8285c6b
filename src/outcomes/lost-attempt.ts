/**
 * How runs end that this worker leased and will not perform: because of too many losses, at-most-once execution, or
 * cancellation while they waited.
 */
import { uuidv7 } from '../core/ids.ts'
import { endAfterLoss, type LOSS, lossError } from '../core/policy/worker-loss.ts'
import type { Ending } from '../store/agenda/outcomes.ts'
import type { Work } from '../transport/transport.ts'

/** Whether a run whose attempt was lost may have another attempt. */
export const mayBeginAgain = (work: Work): boolean => reasonToEnd(work) === null

const reasonToEnd = ({ definition: { onWorkerLoss, retry }, attempt, losses }: Work) =>
  endAfterLoss({ onWorkerLoss, retryLimit: retry.limit, attempt, losses })

export const lostEnding = (
  work: Work,
  {
    startedAt,
    now,
    how = 'uncertain',
  }: { readonly startedAt: number | null; readonly now: number; readonly how?: keyof typeof LOSS },
): Ending => ({
  ...base(work, now),
  startedAt,
  state: 'permanently_failed',
  outcome: 'worker_lost',
  error: lossError(how, reasonToEnd(work) ?? ''),
})

export const cancelledEnding = (work: Work, now: number): Ending => ({
  ...base(work, now),
  state: 'cancelled',
  outcome: 'cancelled',
  error: null,
})

const base = ({ runId, fence, definition }: Work, endedAt: number) => ({
  runId,
  fence,
  startedAt: null,
  endedAt,
  output: null,
  nextRunId: definition.schedule.type === 'delay' ? uuidv7() : null,
})
