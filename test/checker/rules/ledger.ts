/**
 * Every occurrence that is owed has exactly one entry: a run, or a skip with a reason that holds. Every
 * entry stands for an occurrence, or for a trigger that somebody pulled.
 */
import type { Book, Wish } from '../book.ts'
import type { HistoryRow, LiveRow } from '../evidence.ts'
import { type Finding, iso, type Kind } from '../finding.ts'
import { dueInstants, nextRowOf } from '../oracle.ts'
import { checkMisfire } from './misfires.ts'
import { didWait, turnsOf, wasReplaced } from './turns.ts'

/** How long after a request to pause or end a task the work already in progress may still overtake it. */
const SETTLE_MS = 1_000
const BY_TIME = 'occurrence'

type Entry = HistoryRow | LiveRow

export function checkLedger(book: Book): Finding[] {
  return [...book.wishes.values()].flatMap((wish) => [...checkWish(book, wish), ...checkTriggers(book, wish)])
}

function checkWish(book: Book, wish: Wish): Finding[] {
  const { taskId } = wish
  const found: Finding[] = []
  const report = (kind: Kind, runId: string | null, what: string) => found.push({ kind, what, taskId, runId })
  const history = book.historyOfTask.of(taskId).filter(({ kind }) => kind === BY_TIME)
  const entries: Entry[] = [...history, ...book.liveOfTask.of(taskId).filter(({ kind }) => kind === BY_TIME)]
  const expected = expectedOf(
    book,
    wish,
    history,
    Math.max(book.tables.readAt, ...entries.map((entry) => entry.scheduledFor)),
  )
  for (const due of expected.owed) {
    const ofDue = entries.filter((entry) => covers(entry, due))
    const runs = new Set(ofDue.map(({ runId }) => runId))
    const [entry] = ofDue
    if (!entry && !isStillToCome(book, wish, due)) report(...missing(book, wish, due))
    else if (!entry) continue
    else if (runs.size > 1) report('history_doubled', entry.runId, `${iso(due)} has ${runs.size} runs`)
    else if (!('endedAt' in entry) && isOverdue(book, entry))
      report('lost', entry.runId, `${iso(due)} is still ${entry.state} with nobody working on it`)
  }
  const known = new Set(expected.possible)
  const isUntold = wish.body.schedule?.type === 'delay' && hasGap(book, taskId)
  for (const entry of isUntold ? [] : entries)
    if (!known.has(entry.scheduledFor) && !isRange(entry))
      report('unexpected', entry.runId, `${iso(entry.scheduledFor)} is no instant of its schedule`)
  for (const row of history) if (row.state === 'skipped') found.push(...checkSkip(book, wish, row))
  return [...found, ...checkSilence(wish, history)]
}

/**
 * Returns the occurrences that must exist and those that may: an occurrence that is due during a request about the task may or
 * may not exist.
 */
function expectedOf(
  book: Book,
  wish: Wish,
  history: readonly HistoryRow[],
  until: number,
): { owed: number[]; possible: number[] } {
  const { readAt } = book.tables
  const { end } = wish
  const isChain = wish.body.schedule?.type === 'delay'
  const skips = wish.body.maxRuns === undefined ? [] : history.filter(isPassedOver)
  const wasSkipped = (due: number) => skips.some((row) => covers(row, due))
  const instants = isChain ? chain(wish, history) : dueInstants(wish, until, wasSkipped)
  return {
    owed: instants.filter((due) => due <= readAt && (end === null || due < end.askedAt)),
    possible: instants.filter((due) => end === null || due <= end.answeredAt + SETTLE_MS),
  }
}

/** Whether an entry does not count as a run of its task. A run that was skipped by its queue timeout does count. */
const isPassedOver = ({ state, reason }: HistoryRow) =>
  reason === 'misfire' || (state === 'skipped' && reason !== 'queue_timeout')

/** The instants of a `delay`: the first by time, each other one by the end of the one before. */
function chain(wish: Wish, history: readonly HistoryRow[]): number[] {
  const inOrder = [...history].sort((a, b) => a.endedAt - b.endedAt)
  const following = inOrder.flatMap((row, i) => nextRowOf(wish, row.endedAt, i + 1) ?? [])
  return [...dueInstants(wish, Number.MAX_SAFE_INTEGER), ...following]
}

/** A run was delivered and is not in history: what followed from it cannot be told. */
const hasGap = (book: Book, taskId: string) =>
  book.deliveriesOfTask
    .of(taskId)
    .some(({ messageId }) => book.history.of(messageId).length === 0 && !book.live.has(messageId))

const isRange = (entry: Entry) => 'coversUntil' in entry && entry.coversUntil !== null

function covers(entry: Entry, due: number): boolean {
  const until = 'coversUntil' in entry ? (entry.coversUntil ?? entry.scheduledFor) : entry.scheduledFor
  return entry.scheduledFor <= due && due <= until
}

/** Whether the row of an earlier occurrence is still scheduled, so that this occurrence comes after it. */
const isStillToCome = (book: Book, { taskId }: Wish, due: number) =>
  book.liveOfTask
    .of(taskId)
    .some(({ kind, state, scheduledFor }) => kind === BY_TIME && state === 'scheduled' && scheduledFor < due)

/** Classifies an occurrence without an entry: was it never performed, or performed and not recorded? */
function missing(book: Book, wish: Wish, due: number): [Kind, string | null, string] {
  const delivered = book.deliveriesOfTask.of(wish.taskId).filter(({ scheduledFor }) => scheduledFor === due)
  const done = delivered.find(({ status }) => status !== null && status < 300)
  if (done) return ['history_missing', done.messageId, `${iso(due)} was delivered and has no row of history`]
  const ended = book.changesOfTask
    .of(wish.taskId)
    .find(({ scheduledFor, from, to }) => scheduledFor === due && from === 'running' && to === null)
  if (ended) return ['history_missing', ended.runId, `${iso(due)} was ended and has no row of history`]
  return ['lost', delivered[0]?.messageId ?? null, `${iso(due)} has no run and no skip`]
}

/** Whether the time of a live row has passed, while no attempt is in progress and the row has nothing to wait for. */
function isOverdue(book: Book, row: LiveRow): boolean {
  const { readAt } = book.tables
  if (row.state === 'held') return isStranded(book, row)
  const isSeen = row.state === 'pending' || row.state === 'running'
  const boundMs = isSeen ? book.bounds.idleMs : book.bounds.unseenMs
  const last = book.deliveries.of(row.runId).at(-1)
  const isInProgress = last !== undefined && last.answeredAt === null && last.goneAt === null
  return !isInProgress && book.latestStart(row.wakeAt, boundMs) < readAt
}

/** Whether a held run still waits although the run that it waited for ended long ago. */
function isStranded(book: Book, { taskId, runId, scheduledFor }: LiveRow): boolean {
  const isActive = book.liveOfTask
    .of(taskId)
    .some((row) => row.runId !== runId && ['pending', 'running', 'retrying'].includes(row.state))
  const ends = book.historyOfTask.of(taskId).map(({ endedAt }) => endedAt)
  const isFirst = book.liveOfTask
    .of(taskId)
    .every((row) => row.state !== 'held' || row.scheduledFor >= scheduledFor)
  return (
    !isActive &&
    isFirst &&
    book.latestStart(Math.max(scheduledFor, ...ends), book.bounds.idleMs) < book.tables.readAt
  )
}

/** A skip must have had a reason. */
function checkSkip(book: Book, wish: Wish, skip: HistoryRow): Finding[] {
  const { taskId } = wish
  const lost = (what: string): Finding[] => [{ kind: 'lost', what, taskId, runId: skip.runId }]
  switch (skip.reason) {
    case 'overlap': {
      if (wish.body.overlap === 'allow')
        return lost(`${iso(skip.scheduledFor)} was skipped, though overlap is allowed`)
      if (!wasActive(book, wish, skip) && !hasGap(book, taskId))
        return lost(`${iso(skip.scheduledFor)} was skipped, though nothing was active`)
      return checkPassedOver(book, wish, skip)
    }
    case 'overlap_limit':
      return wish.body.overlap === 'queue_all' && waitingAround(book, skip) >= MAX_WAITING
        ? []
        : lost(`${iso(skip.scheduledFor)} was skipped, though fewer than ${MAX_WAITING} waited`)
    case 'misfire':
      return checkMisfire(book, wish, skip)
    case 'paused':
      return wish.pauses.length > 0
        ? []
        : lost(`${iso(skip.scheduledFor)} was skipped as paused, and never was`)
    case 'cancelled':
      return wish.end ? [] : lost(`${iso(skip.scheduledFor)} was skipped as cancelled, and never was`)
    case 'queue_timeout':
      return wish.body.queueTimeout !== undefined
        ? []
        : lost(`${iso(skip.scheduledFor)} was skipped for having waited too long, and was allowed to`)
    default:
      return lost(`${iso(skip.scheduledFor)} was skipped for the reason ${skip.reason}, which is none`)
  }
}

/** Maximum number of waiting runs of a task, according to the documentation. */
const MAX_WAITING = 100

/** If runs may wait, a run is skipped only because another one waits, or replaces it. */
function checkPassedOver(book: Book, wish: Wish, skip: HistoryRow): Finding[] {
  const { taskId, body } = wish
  if (book.changesOfTask.of(taskId).length === 0) return []
  const lost = (what: string): Finding[] => [{ kind: 'lost', what, taskId, runId: skip.runId }]
  switch (body.overlap) {
    case 'queue_one':
      return didWait(book, taskId, skip.runId, skip.endedAt, WRITTEN_MS)
        ? []
        : lost(`${iso(skip.scheduledFor)} was skipped, though none waited`)
    case 'queue_all':
      return lost(`${iso(skip.scheduledFor)} was skipped, though all of them may wait`)
    case 'cancel_previous':
      return wasReplaced(book, taskId, skip.runId)
        ? []
        : lost(`${iso(skip.scheduledFor)} was skipped, though no later run took its place`)
    default:
      return []
  }
}

const waitingAround = (book: Book, { taskId, endedAt }: HistoryRow) =>
  turnsOf(book.changesOfTask.of(taskId)).filter(
    ({ heldAt, admittedAt, goneAt }) =>
      heldAt !== null &&
      heldAt <= endedAt + WRITTEN_MS &&
      (admittedAt ?? goneAt ?? Number.POSITIVE_INFINITY) >= endedAt - WRITTEN_MS,
  ).length

/** The end of a run is written a little after it, and the skip looks at what is written. */
const WRITTEN_MS = 1_000

/** Another run of the task was on its way or in progress when one was skipped. */
function wasActive(book: Book, { taskId }: Wish, skip: HistoryRow): boolean {
  const changes = book.changesOfTask.of(taskId).filter(({ runId }) => runId !== skip.runId)
  const [began, ended] = [new Map<string, number>(), new Map<string, number>()]
  for (const { runId, to, at } of changes)
    if (to === null) ended.set(runId, at)
    else if (to !== 'scheduled' && !began.has(runId)) began.set(runId, at)
  const isOpen = (runId: string) => (ended.get(runId) ?? Number.POSITIVE_INFINITY) > skip.endedAt - WRITTEN_MS
  if (changes.length > 0)
    return [...began].some(([runId, at]) => at <= skip.endedAt + WRITTEN_MS && isOpen(runId))
  const others: Entry[] = [...book.historyOfTask.of(taskId), ...book.liveOfTask.of(taskId)]
  return others.some(
    (row) =>
      row.runId !== skip.runId &&
      row.scheduledFor <= Math.max(skip.endedAt, skip.scheduledFor) &&
      (!('endedAt' in row) ||
        (row.state !== 'skipped' && row.endedAt >= skip.scheduledFor - book.bounds.lateMs)),
  )
}

/** No run begins that is due after its task was paused or ended. */
function checkSilence(wish: Wish, history: readonly HistoryRow[]): Finding[] {
  const silences = [
    ...wish.pauses.map(({ from, to }) => [from.answeredAt, to?.askedAt ?? Number.POSITIVE_INFINITY] as const),
    ...(wish.end ? [[wish.end.answeredAt, Number.POSITIVE_INFINITY] as const] : []),
  ]
  return history
    .filter((row) => row.state !== 'skipped' && row.startedAt !== null)
    .filter(({ scheduledFor }) =>
      silences.some(([from, to]) => scheduledFor > from + SETTLE_MS && scheduledFor < to),
    )
    .map(({ runId, taskId, scheduledFor }) => ({
      kind: 'unexpected' as const,
      what: `${iso(scheduledFor)} ran, though the task had been silenced before`,
      taskId,
      runId,
    }))
}

/** Each trigger that was answered has its run, and no other manual run is there. */
function checkTriggers(book: Book, wish: Wish): Finding[] {
  const { taskId } = wish
  const asked = book.requests.filter((request) => request.verb === 'trigger' && request.taskId === taskId)
  const triggered = new Set(asked.flatMap(({ runId }) => runId ?? []))
  const isUncertain = asked.some(({ status }) => status === null || status >= 500)
  const found = [...triggered]
    .filter((runId) => book.history.of(runId).length === 0)
    .filter((runId) => {
      const live = book.live.get(runId)
      return !live || isOverdue(book, live)
    })
    .map((runId): Finding => ({ kind: 'lost', what: 'was triggered and has not run', taskId, runId }))
  const manual = book.historyOfTask.of(taskId).filter(({ kind }) => kind === 'manual')
  const unasked = isUncertain ? [] : manual.filter(({ runId }) => !triggered.has(runId))
  return [
    ...found,
    ...unasked.map(
      ({ runId }): Finding => ({ kind: 'unexpected', what: 'was triggered by nobody', taskId, runId }),
    ),
  ]
}
