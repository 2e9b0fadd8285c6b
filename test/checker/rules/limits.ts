/**
 * How many at once, and in which order. A sweep over the intervals in which attempts were in progress: as
 * the sink saw them, or, for what no sink saw, as history has them. An attempt that was taken from its
 * worker counts until then, and not for as long as the far end goes on with it.
 */
import type { Book, Wish } from '../book.ts'
import type { Delivery, HistoryRow } from '../evidence.ts'
import { type Finding, iso } from '../finding.ts'

interface Stretch {
  readonly runId: string
  readonly from: number
  readonly to: number
}

export function checkLimits(book: Book, tainted: ReadonlySet<string>): Finding[] {
  const isSound = ({ runId }: { runId: string }) => !tainted.has(runId)
  const wishes = [...book.wishes.values()]
  const keys = new Set(wishes.flatMap(({ body }) => body.concurrencyKey ?? []))
  const found: Finding[] = []
  for (const key of keys) {
    const behind = wishes.filter(({ body }) => body.concurrencyKey === key)
    const limit = behind.at(-1)?.body.concurrencyLimit ?? 1
    const stretches = behind.flatMap(({ taskId }) => attemptsOf(book, taskId)).filter(isSound)
    const tooMany = overLimit(stretches, limit, `key ${key}`)
    found.push(...tooMany)
    if (limit === 1 && tooMany.length === 0) found.push(...outOfOrder(book, behind, tainted))
  }
  for (const { name, limit } of limitsOfQueues(book)) {
    const inQueue = wishes.filter(({ body }) => (body.queue ?? 'default') === name)
    const stretches = inQueue.flatMap(({ taskId }) => attemptsOf(book, taskId)).filter(isSound)
    found.push(...overLimit(stretches, limit, `queue ${name}`))
  }
  for (const { taskId, body } of wishes) {
    if (body.overlap === 'allow') continue
    const runs = book.historyOfTask
      .of(taskId)
      .filter((row) => row.state !== 'skipped' && row.startedAt !== null)
    found.push(
      ...overLimit(
        runs.filter(isSound).map((row) => runOf(book, row)),
        1,
        `task ${taskId}`,
        taskId,
      ),
    )
  }
  return found
}

/** Returns the queues that had a single limit since before their first task; limits that change in between are not judged. */
function limitsOfQueues({ requests, wishes }: Book): { name: string; limit: number }[] {
  const set = requests.flatMap(({ queue, answeredAt, status }) =>
    queue && status !== null && status < 300
      ? [{ ...queue, at: answeredAt ?? Number.POSITIVE_INFINITY }]
      : [],
  )
  return set.flatMap(({ name, limit, at }) => {
    const isAlone = set.filter((other) => other.name === name).length === 1
    const isFirst = [...wishes.values()].every(
      ({ body, createdAt }) => body.queue !== name || createdAt >= at,
    )
    return limit !== null && isAlone && isFirst ? [{ name, limit }] : []
  })
}

/** Attempts of a task, each from its beginning to its end. */
function attemptsOf(book: Book, taskId: string): Stretch[] {
  return book.historyOfTask.of(taskId).flatMap((row): Stretch[] => {
    const deliveries = book.deliveries.of(row.runId)
    if (deliveries.length > 0) return deliveries.map((delivery) => deliveryOf(book, delivery))
    return row.startedAt === null ? [] : [{ runId: row.runId, from: row.startedAt, to: row.endedAt }]
  })
}

function deliveryOf(book: Book, { messageId, fence, receivedAt, answeredAt, goneAt }: Delivery): Stretch {
  const record = book.attempts.of(messageId).find((attempt) => attempt.fence === fence)
  const takenAt = record?.outcome === 'worker_lost' ? record.endedAt : Number.POSITIVE_INFINITY
  const to = Math.min(answeredAt ?? goneAt ?? Number.POSITIVE_INFINITY, takenAt)
  return { runId: messageId, from: receivedAt, to: Math.max(receivedAt, to) }
}

/** A run holds its task's place from its first attempt to its end, retries included. */
function runOf(book: Book, row: HistoryRow): Stretch {
  const deliveries = book.deliveries.of(row.runId)
  const from = deliveries[0]?.receivedAt ?? row.startedAt ?? row.endedAt
  const to = deliveries.at(-1)?.answeredAt ?? row.endedAt
  return { runId: row.runId, from, to: Math.max(from, to) }
}

function overLimit(
  stretches: readonly Stretch[],
  limit: number,
  whose: string,
  taskId: string | null = null,
): Finding[] {
  const edges = stretches.flatMap(({ from, to }) => [
    { at: from, step: 1 },
    { at: to, step: -1 },
  ])
  edges.sort((a, b) => a.at - b.at || a.step - b.step)
  let [now, most, when] = [0, 0, 0]
  for (const { at, step } of edges) {
    now += step
    if (now > most) [most, when] = [now, at]
  }
  if (most <= limit) return []
  const what = `${most} runs of ${whose} were in progress at ${iso(when)}, and ${limit} may be`
  return [{ kind: 'over_limit', what, taskId, runId: null }]
}

/** A run that has waited this long when another run is admitted was certainly in line. */
const IN_LINE_MS = 100
/** How long after its admission the sink may see a run begin, on a busy machine. */
const UNDERWAY_MS = 1_000

/** Behind a key with one place the first in line goes first: by priority, then by when it is due. */
function outOfOrder(book: Book, wishes: readonly Wish[], tainted: ReadonlySet<string>): Finding[] {
  const runs = wishes.flatMap(({ taskId, body }) =>
    book.historyOfTask.of(taskId).flatMap(({ runId, scheduledFor: due }) => {
      const turn = turnOf(book, runId, due)
      return turn && !tainted.has(runId)
        ? [{ ...turn, runId, taskId, due, priority: body.priority ?? 0 }]
        : []
    }),
  )
  for (const second of runs) {
    const passed = runs.find(
      (first) =>
        (first.priority < second.priority ||
          (first.priority === second.priority && first.due < second.due)) &&
        first.waitingAt < second.admittedAt - IN_LINE_MS &&
        first.admittedAt > second.admittedAt,
    )
    if (!passed) continue
    const what = `was due at ${iso(passed.due)} and waited at ${iso(second.admittedAt)}, when one due at ${iso(second.due)} was let in`
    return [{ kind: 'out_of_order', what, taskId: passed.taskId, runId: passed.runId }]
  }
  return []
}

/** Since when a run was in line, and when it was let in; the sink knows that less exactly than the database. */
function turnOf(
  book: Book,
  runId: string,
  due: number,
): { waitingAt: number; admittedAt: number } | undefined {
  const changes = book.changes.of(runId)
  const waiting = changes.find(({ to }) => to === 'pending')
  const admitted = changes.find(({ to }) => to === 'running')
  if (waiting && admitted) return { waitingAt: waiting.at, admittedAt: admitted.at }
  const [first] = book.deliveries.of(runId)
  return first && changes.length === 0
    ? { waitingAt: due + UNDERWAY_MS, admittedAt: first.receivedAt }
    : undefined
}
