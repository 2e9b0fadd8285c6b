/**
 * Counts deliveries a second time without relying on ids: every successful answer on a path, in order of time, is assigned to
 * the open window that closes first. As many windows must be left without an answer as there are completed runs without a
 * delivery by id.
 */
import { type Book, Grouped, type Wish } from '../book.ts'
import type { Delivery, HistoryRow } from '../evidence.ts'
import type { Finding } from '../finding.ts'

/** An answer is noted by the sink a little after the sender has it. */
const NOTED_MS = 250

export function checkWindows(book: Book, tainted: ReadonlySet<string>): Finding[] {
  const wishes = new Grouped([...book.wishes.values()], pathOf, () => 0)
  const found: Finding[] = []
  for (const path of wishes.keys()) {
    const runs = wishes.of(path).flatMap(({ taskId }) => book.historyOfTask.of(taskId))
    const done = runs.filter(({ state }) => state === 'completed')
    if (path === NOWHERE || runs.some(({ runId }) => tainted.has(runId))) continue
    const byId = done.filter(({ runId }) => !book.deliveries.of(runId).some(isGood)).length
    const byTime = unmetWindows(book, done, book.deliveriesAt.of(path).filter(isGood))
    if (byId !== byTime)
      found.push({
        kind: 'inconsistent',
        what: `of ${done.length} completed runs on ${path} ${byTime} have no answer by time, and ${byId} by id`,
        taskId: wishes.of(path)[0]?.taskId ?? null,
        runId: null,
      })
  }
  return found
}

const NOWHERE = ''
const pathOf = ({ body }: Wish) =>
  body.action.url === undefined ? NOWHERE : new URL(body.action.url).pathname
const isGood = ({ status }: Delivery) => status !== null && status < 300

function unmetWindows({ bounds }: Book, runs: readonly HistoryRow[], hits: readonly Delivery[]): number {
  const open = runs
    .map((run) => ({ opens: run.scheduledFor - bounds.earlyMs, closes: run.endedAt + NOTED_MS }))
    .sort((a, b) => a.closes - b.closes)
  for (const { answeredAt } of hits) {
    const at = answeredAt ?? Number.POSITIVE_INFINITY
    const index = open.findIndex(({ opens, closes }) => opens <= at && at <= closes)
    if (index >= 0) open.splice(index, 1)
  }
  return open.length
}
