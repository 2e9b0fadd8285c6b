/**
 * History is true: for a run that it calls completed, the sink gave a successful answer to the fence in history before the
 * recorded end; for a run that it calls failed, the sink did not. An end that matches the answer to an earlier fence was
 * written by a worker that no longer held the run.
 */
import type { Book } from '../book.ts'
import type { Delivery } from '../evidence.ts'
import { type Finding, iso } from '../finding.ts'
import { wasReplaced } from './turns.ts'

/** An answer is noted by the sink a little after the sender has it. */
const NOTED_MS = 100

interface Ended {
  readonly runId: string
  readonly taskId: string
  readonly fence: number
  readonly outcome: string | null
  readonly endedAt: number
}

export function checkTruth(book: Book): Finding[] {
  const { history, attempts } = book.tables
  const taskOf = new Map([...history, ...book.tables.live].map(({ runId, taskId }) => [runId, taskId]))
  const ends: Ended[] = [
    ...history,
    ...attempts.map((attempt) => ({ ...attempt, taskId: taskOf.get(attempt.runId) ?? '' })),
  ]
  return [...ends.flatMap((end) => checkEnd(book, end)), ...checkStates(book), ...checkCancelled(book)]
}

function checkEnd(book: Book, end: Ended): Finding[] {
  const { runId, taskId, fence, outcome } = end
  if (book.wishes.get(taskId)?.body.action.url === undefined) return []
  if (outcome !== 'completed' && outcome !== 'failed') return []
  const deliveries = book.deliveries.of(runId)
  const fits = (delivery: Delivery) =>
    outcome === 'completed' ? wasGood(delivery, end) : wasBad(delivery, end)
  const own = deliveries.find((delivery) => delivery.fence === fence)
  if (own && fits(own)) return []
  // An attempt can fail before anything is sent, for want of a connection.
  if (!own && outcome === 'failed') return []
  const stale = deliveries.find((delivery) => delivery.fence < fence && fits(delivery))
  const saw = own ? `answered with ${own.status} at ${iso(own.answeredAt ?? Number.NaN)}` : 'not delivered'
  const what = `is ${outcome} since ${iso(end.endedAt)} with fence ${fence}, which was ${saw}`
  return stale
    ? [{ kind: 'stale_accepted', what: `${what}; that is how fence ${stale.fence} ended`, taskId, runId }]
    : [{ kind: 'inconsistent', what, taskId, runId }]
}

const wasAnswered = ({ answeredAt }: Delivery, { endedAt }: Ended) =>
  answeredAt !== null && answeredAt <= endedAt + NOTED_MS

const wasGood = (delivery: Delivery, end: Ended) => wasAnswered(delivery, end) && (delivery.status ?? 0) < 300

/** Answered badly by then, or never: the sender gave up, or was cut off. */
const wasBad = (delivery: Delivery, end: Ended) =>
  wasAnswered(delivery, end) ? (delivery.status ?? 0) >= 300 : delivery.goneAt !== null

/** The state of a run follows from how its last attempt ended, unless a user had the last word. */
function checkStates(book: Book): Finding[] {
  const allowed: Readonly<Record<string, readonly string[]>> = {
    completed: ['completed'],
    permanently_failed: ['failed', 'timed_out', 'worker_lost'],
  }
  return book.tables.history
    .filter(({ state, outcome }) => allowed[state]?.includes(outcome ?? '') === false)
    .map(({ runId, taskId, state, outcome }) => ({
      kind: 'inconsistent' as const,
      what: `is ${state}, and its last attempt ${outcome}`,
      taskId,
      runId,
    }))
}

/** A run ends cancelled if its cancellation was confirmed; any other cancelled run was replaced, or its task was ended. */
function checkCancelled(book: Book): Finding[] {
  const cancelled = book.requests.filter(
    ({ verb, status }) => verb === 'cancel_run' && status !== null && status < 300,
  )
  const overruled = cancelled.flatMap(({ runId, taskId }): Finding[] => {
    const [row] = book.history.of(runId ?? '')
    if (!row || row.state === 'cancelled') return []
    return [{ kind: 'inconsistent', what: `was cancelled, and ended ${row.state}`, taskId, runId }]
  })
  const asked = new Set(cancelled.map(({ runId }) => runId))
  const unasked = book.tables.history.filter(
    ({ state, runId, taskId }) =>
      state === 'cancelled' &&
      !asked.has(runId) &&
      !book.wishes.get(taskId)?.end &&
      !(book.wishes.get(taskId)?.body.overlap === 'cancel_previous' && wasReplaced(book, taskId, runId)),
  )
  return [
    ...overruled,
    ...unasked.map(
      ({ runId, taskId }): Finding => ({
        kind: 'inconsistent',
        what: 'was cancelled by nobody',
        taskId,
        runId,
      }),
    ),
  ]
}
