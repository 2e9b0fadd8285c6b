/**
 * The life of each live row, change by change: only moves that exist, fences that only grow, one holder at
 * a time, none of them dead, and no fire by a node that does not own the shard.
 */
import type { Book } from '../book.ts'
import type { Change, OwnerChange } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'

/** Where a live row may go from each state; 'gone' is into history, or away by a user's word. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  none: ['scheduled'],
  scheduled: ['scheduled', 'pending', 'running', 'gone'],
  pending: ['pending', 'running', 'gone'],
  running: ['running', 'pending', 'retrying', 'gone'],
  retrying: ['retrying', 'pending', 'running', 'gone'],
  gone: [],
}

export function checkLeases(book: Book): Finding[] {
  const deadAt = new Map(
    book.tables.nodes.flatMap(({ id, deadAt }) => (deadAt === null ? [] : [[id, deadAt]])),
  )
  const schedulers = new Set(book.tables.nodes.filter((node) => node.isScheduler).map(({ id }) => id))
  return [...book.changes.keys()].flatMap((runId) => {
    const changes = book.changes.of(runId)
    const found: Finding[] = []
    const report = (kind: Kind, { taskId }: Change, what: string) => found.push({ kind, what, taskId, runId })
    let state = 'none'
    let granted = -1
    for (const change of changes) {
      const to = change.to ?? 'gone'
      if (!MOVES[state]?.includes(to))
        report('inconsistent', change, `went from ${state} to ${to} at ${iso(change.at)}`)
      state = to
      if (change.fence === null) continue
      if (change.fenceBefore !== null && change.fence < change.fenceBefore)
        report('fence_not_growing', change, `fell from fence ${change.fenceBefore} to ${change.fence}`)
      if (!isGrant(change)) continue
      if (change.from === 'running')
        report(
          'two_winners',
          change,
          `went from ${change.workerBefore} to ${change.workerId} without being taken back`,
        )
      else if (change.fence <= granted)
        report(
          'fence_not_growing',
          change,
          `was granted with fence ${granted}, and again with ${change.fence}`,
        )
      granted = Math.max(granted, change.fence)
      if ((deadAt.get(change.workerId ?? '') ?? Number.POSITIVE_INFINITY) < change.at)
        report('stale_accepted', change, `was granted to ${change.workerId}, which was dead by then`)
      // Only a fire leads straight from waiting for its time to running, and its worker is of the same node.
      const isFire = change.from === 'scheduled' || change.from === 'retrying'
      const owner = ownerOf(book.tables.owners, change)
      if (isFire && owner && schedulers.has(change.workerId ?? '') && owner.owner !== change.workerId)
        report(
          'stale_accepted',
          change,
          `was fired by ${change.workerId} at ${iso(change.at)}; its shard was ${owner.owner}'s since ${iso(owner.at)}`,
        )
    }
    return found
  })
}

/** A worker gets the run: it did not run before, or it was somebody else's, or under another fence. */
const isGrant = ({ to, from, fence, fenceBefore, workerId, workerBefore }: Change) =>
  to === 'running' && (from !== 'running' || workerId !== workerBefore || fence !== fenceBefore)

function ownerOf(owners: readonly OwnerChange[], { shard, at }: Change): OwnerChange | undefined {
  return owners.findLast((owner) => owner.shard === shard && owner.at <= at)
}
