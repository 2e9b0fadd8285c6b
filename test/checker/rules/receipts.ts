/**
 * What remote workers were told about their reports: one end of a run counts, it is the one in history, and a worker that
 * reported another end was told that it does not count.
 */
import { type Book, Grouped } from '../book.ts'
import type { Receipt } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'

export function checkReceipts(book: Book): Finding[] {
  const byRun = new Grouped<Receipt>(
    book.receipts,
    ({ runId }) => runId,
    ({ at }) => at,
  )
  return [...byRun.keys()].flatMap((runId): Finding[] => {
    const [row] = book.history.of(runId)
    const found: Finding[] = []
    const report = (kind: Kind, what: string) =>
      found.push({ kind, what, taskId: row?.taskId ?? null, runId })
    const receipts = byRun.of(runId)
    const winners = new Map(receipts.filter(({ isRecorded }) => isRecorded).map((it) => [it.fence, it]))
    if (winners.size > 1)
      report(
        'two_winners',
        `ended by fences ${[...winners.keys()].join(' and ')}, and both were told that it counts`,
      )
    for (const { fence, workerId, at } of winners.values())
      if (row && row.fence !== fence)
        report(
          'stale_accepted',
          `was ended at ${iso(at)} by ${workerId} with fence ${fence}, and told so; history has fence ${row.fence}`,
        )
    for (const { fence, workerId, isRecorded, at } of receipts)
      if (!isRecorded && row?.fence === fence && row.workerId === workerId)
        report(
          'inconsistent',
          `was ended by fence ${fence}, which was told at ${iso(at)} that it does not count`,
        )
    return found
  })
}
