/** The task that does once, now, what a draft says: where its runs would run, with the limits they would have. */
import type { TaskInput } from '../../api/wire.ts'
import type { Draft } from './draft.ts'
import { fullInput } from './draft-input.ts'

const MAX_NAME = 200
/** Where the draft lets runs wait for a worker for ever, a test does not. */
const QUEUE_TIMEOUT = '1m'

/** Not its key, which is the saved task's own, nor its tags, which others listen to. */
export function testInput(draft: Draft): TaskInput {
  const full = fullInput(draft)
  const name = draft.name.trim()
  return {
    name: name === '' ? 'Test run' : `Test of ${name}`.slice(0, MAX_NAME),
    tags: ['test'],
    action: full.action,
    retry: { limit: 0 },
    timeout: full.timeout,
    queueTimeout: full.queueTimeout ?? QUEUE_TIMEOUT,
    onWorkerLoss: full.onWorkerLoss,
    queue: full.queue,
    priority: full.priority,
    labels: full.labels,
    concurrencyKey: full.concurrencyKey,
    concurrencyLimit: full.concurrencyLimit,
    metadata: full.metadata,
    tracingId: full.tracingId,
  } as TaskInput
}
