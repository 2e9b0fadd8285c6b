/**
 * What arrived, run by run: each attempt at most once, with a fence higher than any before, never early and
 * in time. A second delivery needs a first one that failed, or whose worker something had happened to.
 */
import type { Book } from '../book.ts'
import type { AttemptRow, Delivery } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'
import { lengthMs } from '../oracle.ts'
import { QUEUEING } from './turns.ts'

const RETRY_DEFAULTS = { initial: '1s', max: '30s' }

export function checkDeliveries(book: Book): Finding[] {
  return [...book.deliveries.keys()].flatMap((runId) => {
    // Sorted by fence, not by arrival: a suspended worker that lost a run may still send it when others have it.
    const all = [...book.deliveries.of(runId)].sort((a, b) => a.fence - b.fence || a.attempt - b.attempt)
    const found: Finding[] = []
    const report = (kind: Kind, what: string) =>
      found.push({ kind, what, taskId: all[0]?.taskId ?? null, runId })
    const [first] = book.deliveries.of(runId)
    if (first) checkFirst(book, first, report)
    for (const [i, delivery] of all.entries()) {
      const before = all[i - 1]
      if (before) checkRepetition(book, before, delivery, report)
    }
    return found
  })
}

type Report = (kind: Kind, what: string) => void

function checkFirst(book: Book, delivery: Delivery, report: Report): void {
  const { receivedAt, scheduledFor, messageId, taskId } = delivery
  const wish = book.wishes.get(taskId)
  const row = book.history.of(messageId)[0] ?? book.live.get(messageId)
  if (!wish) report('unexpected', `was sent for task ${taskId}, which nobody asked for`)
  else if (row && (row.taskId !== taskId || row.scheduledFor !== scheduledFor))
    report('inconsistent', `was sent for ${iso(scheduledFor)}, and its row is for ${iso(row.scheduledFor)}`)
  if (receivedAt < scheduledFor - book.bounds.earlyMs)
    report('early', `was due at ${iso(scheduledFor)} and arrived ${scheduledFor - receivedAt} ms before`)
  // A run that waits for a slot of its key or queue, or for its turn, is not late.
  const due = Math.max(scheduledFor, wish?.createdAt ?? 0)
  const isBounded =
    wish !== undefined &&
    wish.body.concurrencyKey === undefined &&
    wish.body.queue === undefined &&
    !QUEUEING.includes(wish.body.overlap ?? 'skip')
  if (isBounded && receivedAt > book.latestStart(due))
    report('late', `was due at ${iso(scheduledFor)} and arrived ${receivedAt - due} ms later`)
}

/** Two deliveries of one message, the second under the next higher fence. */
function checkRepetition(book: Book, first: Delivery, second: Delivery, report: Report): void {
  const fences = `fence ${first.fence} (attempt ${first.attempt}), then ${second.fence} (attempt ${second.attempt})`
  const record = book.attempts.of(first.messageId).find(({ fence }) => fence === first.fence)
  const isOver = first.answeredAt !== null && first.answeredAt <= second.receivedAt
  if (second.fence === first.fence && second.attempt === first.attempt)
    report('doubled', `arrived twice with one fence, ${first.fence}`)
  else if (second.fence === first.fence) report('fence_not_growing', `arrived with ${fences}`)
  else if (second.attempt <= first.attempt) report('inconsistent', `arrived with ${fences}`)
  else if (record?.outcome === 'worker_lost') {
    if (!book.isBroken(record.workerId, record.endedAt))
      report('doubled', `was taken from worker ${record.workerId}, to which nothing had happened`)
  } else if (record) checkRetry(book, first, second, record, report)
  // A failure that was not recorded is found by the rule that counts attempts.
  else if (isOver && (first.status ?? 0) >= 300) return
  else if (isOver) report('doubled', `arrived again after it was answered with ${first.status}: ${fences}`)
  else report('two_winners', `arrived while the first was in progress and not taken back: ${fences}`)
}

/**
 * A retry comes within its backoff, after half of the first one, and not before the receiver wanted it. Attempts
 * that were lost do not double the backoff, so the first one is the most that every retry must have waited for.
 */
function checkRetry(
  book: Book,
  first: Delivery,
  second: Delivery,
  { outcome }: Pick<AttemptRow, 'outcome'>,
  report: Report,
): void {
  const { initial, max } = { ...RETRY_DEFAULTS, ...book.wishes.get(first.taskId)?.body.retry }
  const endedAt = first.answeredAt ?? first.goneAt ?? first.receivedAt
  const backoffMs = Math.min(lengthMs(max), lengthMs(initial) * 2 ** Math.max(0, first.attempt - 1))
  // Only for attempts whose outcome follows from the answer is it known that the answer was read.
  const isAnswered = first.answeredAt !== null && outcome === 'failed'
  const leastMs = isAnswered ? Math.min(lengthMs(max), lengthMs(initial)) / 2 : 0
  const wantedMs = Math.max(leastMs, first.retryAfterMs ?? 0)
  const waitedMs = second.receivedAt - endedAt
  const latest = book.latestStart(endedAt + Math.max(backoffMs, wantedMs)) + book.bounds.retryMs
  if (waitedMs < wantedMs - book.bounds.earlyRetryMs)
    report('early', `was to stay away for ${wantedMs} ms and came after ${waitedMs}`)
  if (second.receivedAt > latest)
    report('late', `was to be tried again within ${backoffMs} ms and was after ${waitedMs}`)
}
