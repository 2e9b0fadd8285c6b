/**
 * The life of each live row, change by change: only moves that exist, fences that only grow, one holder at
 * a time, none of them dead, and no fire by a node that does not own the shard.
 */
import { type Book, Grouped } from '../book.ts'
import type { Change } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'

/** Transitions of a live row from each state; 'gone' means moved to history, or deleted at a user's request. */
const MOVES: Readonly<Record<string, readonly string[]>> = {
  none: ['scheduled'],
  scheduled: ['scheduled', 'held', 'deferred', 'pending', 'running', 'gone'],
  held: ['held', 'deferred', 'pending', 'running', 'gone'],
  deferred: ['deferred', 'held', 'pending', 'running', 'gone'],
  // A catch-up run goes back behind runs on time.
  pending: ['pending', 'held', 'running', 'gone'],
  running: ['running', 'pending', 'retrying', 'gone'],
  retrying: ['retrying', 'pending', 'running', 'gone'],
  gone: [],
}

export function checkLeases(book: Book): Finding[] {
  return [...[...book.changes.keys()].flatMap((runId) => checkLife(book, runId)), ...checkFires(book)]
}

function checkLife(book: Book, runId: string): Finding[] {
  const found: Finding[] = []
  const report = (kind: Kind, { taskId }: Change, what: string) => found.push({ kind, what, taskId, runId })
  let state = 'none'
  let granted = -1
  for (const change of book.changes.of(runId)) {
    const { at, fence, fenceBefore, workerId, workerBefore } = change
    const to = change.to ?? 'gone'
    if (!MOVES[state]?.includes(to))
      report('inconsistent', change, `went from ${state} to ${to} at ${iso(at)}`)
    state = to
    if (fence !== null && fenceBefore !== null && fence < fenceBefore)
      report('fence_not_growing', change, `fell from fence ${fenceBefore} to ${fence}`)
    if (!isGrant(change) || fence === null) continue
    if (change.from === 'running')
      report('two_winners', change, `went from ${workerBefore} to ${workerId} without being taken back`)
    else if (fence <= granted)
      report('fence_not_growing', change, `was granted with fence ${granted}, and again with ${fence}`)
    granted = Math.max(granted, fence)
    if (isDead(book, workerId, at))
      report('stale_accepted', change, `was granted to ${workerId}, which was dead by then`)
  }
  return found
}

/** A worker gets the run: it did not run before, or it was somebody else's, or under another fence. */
const isGrant = ({ to, from, fence, fenceBefore, workerId, workerBefore }: Change) =>
  to === 'running' && (from !== 'running' || workerId !== workerBefore || fence !== fenceBefore)

const isDead = ({ tables }: Book, nodeId: string | null, at: number) =>
  tables.nodes.some(({ id, deadAt }) => id === nodeId && deadAt !== null && deadAt < at)

/** Only a fire leads from waiting for its time to waiting for a worker, or to one of the same node. */
const isFire = ({ from, to }: Change) =>
  (from === 'scheduled' || from === 'retrying' || from === 'held' || from === 'deferred') &&
  (to === 'pending' || to === 'running')

/** A node that fires a row owns its shard at that moment. */
function checkFires(book: Book): Finding[] {
  const changes = book.tables.changes ?? []
  // An api node also claims for remote workers: such grants do not tell whose connection it is.
  const remote = new Set(book.tables.nodes.flatMap(({ id, isRemote }) => (isRemote ? [id] : [])))
  const isOwn = (change: Change) => isGrant(change) && !remote.has(change.workerId ?? '')
  const grants = new Grouped(changes.filter(isOwn), keyOfBackend, ({ at }) => at)
  const owners = new Grouped(
    book.tables.owners,
    ({ shard }) => String(shard),
    ({ at }) => at,
  )
  return changes.filter(isFire).flatMap((change): Finding[] => {
    const { at, shard, runId, taskId } = change
    const node = change.workerId ?? (book.isPooled ? undefined : nodeBehind(grants, change))
    // A node that gives a shard away may still be firing, and the node that takes it waits for that; so only a new owner
    // counts.
    const owner = owners.of(String(shard)).findLast((taken) => taken.at <= at && taken.owner !== null)
    if (!owner || node === undefined || owner.owner === node) return []
    const what = `was fired by ${node} at ${iso(at)}; its shard was ${owner.owner}'s since ${iso(owner.at)}`
    return [{ kind: 'stale_accepted', what, taskId, runId }]
  })
}

const keyOfBackend = ({ backend }: Change) => String(backend)

/** Returns the node behind a connection: a node claims runs for itself only, so other grants on the connection identify it. */
function nodeBehind(grants: Grouped<Change>, change: Change): string | undefined {
  const nodes = new Set(grants.of(keyOfBackend(change)).map(({ workerId }) => workerId))
  // After a crash, another backend may get the same pid.
  const [node] = nodes
  return nodes.size === 1 ? (node ?? undefined) : undefined
}
