/**
 * Turns: what the overlap policies promise about runs that wait for one another. Under `queue_one` one waits at most, under
 * `queue_all` they begin in the order of their instants, under `cancel_previous` the earlier one ends, cancelled; and whatever was told to
 * stop ends so. All of it is read off the changes of live rows; without them there is nothing to judge.
 */
import type { Book, Wish } from '../book.ts'
import type { Change } from '../evidence.ts'
import { type Finding, iso } from '../finding.ts'

/** Policies under which a run may wait for an earlier one of its task. */
export const QUEUEING: readonly string[] = ['queue_one', 'queue_all', 'cancel_previous']
/** Changes made by one statement have instants at most this far apart. */
const AT_ONCE_MS = 50
/** A run that has waited this long when another run is admitted was certainly in line. */
const IN_LINE_MS = 100

/** When one run waited, was admitted, and ended. */
interface Turn {
  readonly runId: string
  readonly due: number
  /** It began to wait for another run of its task. */
  readonly heldAt: number | null
  /** It was allowed to start. */
  readonly admittedAt: number | null
  readonly goneAt: number | null
}

export function checkTurns(book: Book, tainted: ReadonlySet<string>): Finding[] {
  const wishes = [...book.wishes.values()].filter(({ body }) => QUEUEING.includes(body.overlap ?? 'skip'))
  return [...wishes.flatMap((wish) => checkTask(book, wish, tainted)), ...checkStopped(book)]
}

function checkTask(book: Book, wish: Wish, tainted: ReadonlySet<string>): Finding[] {
  const turns = turnsOf(book.changesOfTask.of(wish.taskId)).filter(({ runId }) => !tainted.has(runId))
  switch (wish.body.overlap) {
    case 'queue_one':
      return [...tooManyWait(wish, turns), ...outOfTurn(wish, turns)]
    case 'queue_all':
      return outOfTurn(wish, turns)
    default:
      return notReplaced(book, wish, turns)
  }
}

export function turnsOf(changes: readonly Change[]): Turn[] {
  const turns = new Map<string, Turn>()
  for (const { runId, scheduledFor, to, at } of changes) {
    const turn = turns.get(runId) ?? {
      runId,
      due: scheduledFor,
      heldAt: null,
      admittedAt: null,
      goneAt: null,
    }
    const isAdmitted = to === 'pending' || to === 'running'
    turns.set(runId, {
      ...turn,
      due: scheduledFor,
      heldAt: turn.heldAt ?? (to === 'held' ? at : null),
      admittedAt: turn.admittedAt ?? (isAdmitted ? at : null),
      goneAt: to === null ? at : turn.goneAt,
    })
  }
  return [...turns.values()]
}

const NEVER = Number.POSITIVE_INFINITY
const NEVER_YET = Number.NEGATIVE_INFINITY

/** Of one task no two wait at the same time. */
function tooManyWait({ taskId }: Wish, turns: readonly Turn[]): Finding[] {
  const waits = turns.flatMap(({ runId, heldAt, admittedAt, goneAt }) =>
    heldAt === null ? [] : [{ runId, from: heldAt, to: (admittedAt ?? goneAt ?? NEVER) - AT_ONCE_MS }],
  )
  for (const wait of waits) {
    const other = waits.find(
      ({ runId, from, to }) =>
        runId !== wait.runId && from <= wait.from && wait.from < to && wait.to > wait.from,
    )
    if (!other) continue
    const what = `began to wait at ${iso(wait.from)}, when ${other.runId} had waited since ${iso(other.from)}, and one may`
    return [{ kind: 'over_limit', what, taskId, runId: wait.runId }]
  }
  return []
}

/** The run that is due first goes first. */
function outOfTurn({ taskId }: Wish, turns: readonly Turn[]): Finding[] {
  for (const second of turns) {
    const letIn = second.admittedAt
    if (letIn === null) continue
    const passed = turns.find(
      ({ due, heldAt, admittedAt, goneAt }) =>
        due < second.due &&
        heldAt !== null &&
        heldAt < letIn - IN_LINE_MS &&
        (admittedAt ?? goneAt ?? NEVER) > letIn + AT_ONCE_MS,
    )
    if (!passed) continue
    const what = `was due at ${iso(passed.due)} and waited at ${iso(letIn)}, when one due at ${iso(second.due)} was let in`
    return [{ kind: 'out_of_order', what, taskId, runId: passed.runId }]
  }
  return []
}

/** What is active when a later run begins to wait does not go on for long, unless it was about to end anyway. */
function notReplaced(book: Book, { taskId }: Wish, turns: readonly Turn[]): Finding[] {
  return turns.flatMap((later): Finding[] => {
    const { heldAt } = later
    if (heldAt === null) return []
    const by = book.latestStart(heldAt, book.bounds.stopMs)
    const wentOn = turns.find(
      ({ runId, admittedAt, goneAt }) =>
        runId !== later.runId &&
        admittedAt !== null &&
        admittedAt < heldAt &&
        (goneAt ?? book.tables.readAt) > by,
    )
    // An earlier run may go on if the later one was itself replaced or cancelled meanwhile.
    if (!wentOn || (later.goneAt !== null && later.goneAt <= by)) return []
    const what = `went on until ${iso(wentOn.goneAt ?? NEVER)}, though ${later.runId} was to take its place from ${iso(heldAt)} on`
    return [{ kind: 'inconsistent', what, taskId, runId: wentOn.runId }]
  })
}

/** A run that was told to stop, by anybody, ends cancelled, whatever the outcome of its attempt. */
function checkStopped(book: Book): Finding[] {
  const told = new Map(
    (book.tables.changes ?? []).flatMap(({ runId, isStopped, at }) =>
      isStopped ? [[runId, at] as const] : [],
    ),
  )
  return [...told].flatMap(([runId, at]): Finding[] => {
    const [row] = book.history.of(runId)
    if (!row || row.state === 'cancelled') return []
    const what = `was told to stop at ${iso(at)}, and ended ${row.state}`
    return [{ kind: 'inconsistent', what, taskId: row.taskId, runId }]
  })
}

/** Another run of the task waited around this instant. */
export function didWait(book: Book, taskId: string, runId: string, at: number, marginMs: number): boolean {
  return turnsOf(book.changesOfTask.of(taskId)).some(
    (turn) =>
      turn.runId !== runId &&
      turn.heldAt !== null &&
      turn.heldAt <= at + marginMs &&
      (turn.admittedAt ?? turn.goneAt ?? NEVER) >= at - marginMs,
  )
}

/**
 * Whether a later run of the task existed when this one ended, and so may have replaced it. Later by its instant, or because it
 * began to wait after this one was admitted: a trigger sent just before an occurrence may come after it.
 */
export function wasReplaced(book: Book, taskId: string, runId: string): boolean {
  const turns = turnsOf(book.changesOfTask.of(taskId))
  const own = turns.find((turn) => turn.runId === runId)
  const by = (own?.goneAt ?? NEVER) + AT_ONCE_MS
  return turns.some(
    ({ heldAt, admittedAt, ...turn }) =>
      turn.runId !== runId &&
      (turn.due >= (own?.due ?? NEVER) || (heldAt ?? NEVER_YET) >= (own?.admittedAt ?? NEVER)) &&
      (heldAt ?? admittedAt ?? NEVER) <= by,
  )
}
