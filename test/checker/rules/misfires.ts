/**
 * A misfire is an occurrence that came due while its shard was unwatched: there was a fault, or the shard changed hands. Of the
 * occurrences in one unwatched period the newest is not a misfire, unless the policy runs nothing or another run was in its
 * way.
 */
import type { Book, Wish } from '../book.ts'
import type { HistoryRow } from '../evidence.ts'
import { type Finding, iso } from '../finding.ts'

/** An owner counts as gone since its last heartbeat, which may be this old while the owner is still there. */
const SIGN_MS = 3_000
/** Rows written by one statement are observed at most this far apart. */
const WRITTEN_MS = 1_000

export function checkMisfire(book: Book, wish: Wish, skip: HistoryRow): Finding[] {
  const { taskId, body } = wish
  const lost = (what: string): Finding[] => [{ kind: 'lost', what, taskId, runId: skip.runId }]
  if (!wasUnwatched(book, skip))
    return lost(`${iso(skip.scheduledFor)} was called a misfire, though nothing was broken`)
  const policy = body.misfire?.policy ?? 'run_once'
  const last = skip.coversUntil ?? skip.scheduledFor
  const next = book.historyOfTask.of(taskId).find(({ scheduledFor }) => scheduledFor > last)
  return policy === 'run_once' && next?.reason === 'misfire'
    ? lost(`${iso(last)} was called a misfire, and so was the next instead of running`)
    : []
}

function wasUnwatched(book: Book, { taskId, scheduledFor, endedAt }: HistoryRow): boolean {
  const [from, to] = [scheduledFor - SIGN_MS, endedAt + WRITTEN_MS]
  const shard = book.changesOfTask.of(taskId)[0]?.shard
  return (
    book.faults.some((fault) => fault.from <= to + SIGN_MS && fault.until + fault.recoveryMs >= from) ||
    book.tables.owners.some((change) => change.shard === shard && change.at >= from && change.at <= to)
  )
}
