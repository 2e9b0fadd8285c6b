/** The rows of a run fit together: one end, its attempts counted from one, its losses as many as were lost. */
import type { Book } from '../book.ts'
import type { HistoryRow } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'
import { QUEUEING } from './turns.ts'

export function checkAttempts(book: Book): Finding[] {
  const runs = [...book.history.keys()].flatMap((runId) => checkRun(book, book.history.of(runId)))
  return [...runs, ...checkLosses(book), ...checkStarts(book), ...checkPunctuality(book), ...checkGates(book)]
}

function checkRun(book: Book, rows: readonly HistoryRow[]): Finding[] {
  const [row] = rows
  if (!row) return []
  const { runId, taskId, attempt, losses } = row
  const found: Finding[] = []
  const report = (kind: Kind, what: string) => found.push({ kind, what, taskId, runId })
  if (rows.length > 1) report('history_doubled', `has ${rows.length} rows of history`)
  if (book.live.has(runId)) report('inconsistent', `is ${row.state}, and still has a live row`)

  const earlier = book.attempts.of(runId)
  const numbers = earlier.map(({ number }) => number)
  // A run that ended while it waited has a row for every attempt; otherwise the last attempt is in the history row.
  const expected = row.outcome === null ? attempt : attempt - 1
  if (new Set(numbers).size < numbers.length)
    report('history_doubled', `has attempts ${numbers.join(', ')}, one of them twice`)
  else if (numbers.length < expected)
    report(
      'history_missing',
      `has made ${attempt} attempts, of which ${numbers.join(', ') || 'none'} are recorded`,
    )
  else if (numbers.some((number, i) => number !== i + 1) || numbers.length > expected || attempt < 0)
    report('inconsistent', `has attempt ${attempt}, and before it attempts ${numbers.join(', ') || 'none'}`)

  const fences = [...new Map(earlier.map(({ number, fence }) => [number, fence])).values(), row.fence]
  if (fences.some((fence, i) => fence <= (fences[i - 1] ?? -1)))
    report('fence_not_growing', `has fences ${fences.join(', ')}`)
  const lost = earlier.filter(({ outcome }) => outcome === 'worker_lost').length
  if (losses !== lost + (row.outcome === 'worker_lost' ? 1 : 0) && losses !== lost)
    report('inconsistent', `has ${losses} losses, and ${lost} attempts that were lost`)
  const recorded = new Map([
    ...earlier.map(({ fence, number }) => [fence, number] as const),
    [row.fence, attempt],
  ])
  for (const delivery of book.deliveries.of(runId)) {
    const number = recorded.get(delivery.fence)
    if (number !== undefined && number !== delivery.attempt)
      report('inconsistent', `sent attempt ${delivery.attempt} with the fence of attempt ${number}`)
  }
  return found
}

/** A lease is lost only by a worker that something happened to. */
function checkLosses(book: Book): Finding[] {
  return book.tables.attempts
    .filter(({ outcome }) => outcome === 'worker_lost')
    .filter(({ workerId, endedAt }) => !book.isBroken(workerId, endedAt))
    .map(({ runId, workerId, number }) => ({
      kind: 'doubled' as const,
      what: `lost attempt ${number} with worker ${workerId}, to which nothing had happened`,
      taskId: book.history.of(runId)[0]?.taskId ?? null,
      runId,
    }))
}

/**
 * A worker has a run in hand a little before it is due. Whatever becomes of it then, cancelled or lost with its worker, it
 * has not begun, and history says so.
 */
function checkStarts(book: Book): Finding[] {
  const { history, attempts, live } = book.tables
  const runs = new Map([...live, ...history].map((row) => [row.runId, row]))
  return [...history, ...attempts].flatMap(({ runId, startedAt }): Finding[] => {
    const { taskId, scheduledFor } = runs.get(runId) ?? { taskId: null, scheduledFor: null }
    if (startedAt === null || scheduledFor === null || startedAt >= scheduledFor) return []
    const what = `was due at ${iso(scheduledFor)} and is recorded as begun ${scheduledFor - startedAt} ms before`
    return [{ kind: 'early', what, taskId, runId }]
  })
}

/** For runs that no sink saw, the check has to rely on history. */
function checkPunctuality(book: Book): Finding[] {
  return book.tables.history.flatMap((row): Finding[] => {
    const { runId, taskId, startedAt, scheduledFor, attempt, losses } = row
    const wish = book.wishes.get(taskId)
    if (!wish || startedAt === null || attempt !== 1 || book.deliveries.of(runId).length > 0) return []
    const due = Math.max(scheduledFor, wish.createdAt)
    const mayWait = wish.body.concurrencyKey !== undefined || QUEUEING.includes(wish.body.overlap ?? 'skip')
    if (losses > 0 || mayWait || startedAt <= book.latestStart(due)) return []
    return [
      { kind: 'late', what: `was due at ${iso(due)} and began ${startedAt - due} ms later`, taskId, runId },
    ]
  })
}

/** A slot of a gate is in use exactly as long as a live row says so. */
function checkGates({ tables }: Book): Finding[] {
  const held = tables.gates.reduce((sum, gate) => sum + gate.held, 0)
  const named = tables.live.reduce((sum, row) => sum + row.places, 0)
  if (held === named) return []
  const gates = tables.gates
    .filter((gate) => gate.held > 0)
    .map((gate) => `${gate.queue}/${gate.key} ${gate.held}`)
  const what = `gates hold ${held} places (${gates.join(', ')}), and live rows name ${named}`
  return [{ kind: 'inconsistent', what, taskId: null, runId: null }]
}
