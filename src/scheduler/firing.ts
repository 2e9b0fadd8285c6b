/** Plans the firing of due rows: which of them get the available room, and what follows from a fire that was granted. */
import { durationMs } from '../core/task/task.ts'
import type { QueueTimeout } from '../store/agenda/expiry.ts'
import { type Decision, type Firing, JUST_RUN } from '../store/agenda/fire.ts'
import type { HeldRow } from '../store/agenda/fire-with-overlap.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { type Line, LOCAL, type LocalWorker } from '../transport/local-worker.ts'
import type { Work } from '../transport/transport.ts'
import type { Due } from './due-queue.ts'

/** A due row and the decision about it. */
export interface Decided extends Due {
  readonly decision: Decision
}

export type PlannedFiring = Decided & Firing

export const runs = ({ skip, runFor, catchUp }: Decision) =>
  catchUp === null && (skip === null || runFor !== null)

/** Who has room for due runs, and where runs wait that get none. */
export interface Rooms {
  readonly worker: Pick<LocalWorker, 'serves' | 'reserve' | 'release'> | null
  /** The side lane for a run whose line is full; null if it waits in its own lane. */
  sideOf?(due: Decided): number | null
}

/** The room of a line that was reserved and is still unused. */
interface LineRoom {
  readonly line: Line
  wanted: number
  free: number
  ahead: number
}

/** Assigns the available room in order. A run that must start at once or not at all gets only free places. */
export function withRoom(decided: readonly Decided[], { worker, sideOf }: Rooms): PlannedFiring[] {
  if (!worker)
    return decided.map((due) => planned(due, false, runs(due.decision) ? (sideOf?.(due) ?? null) : null))
  const places = decided.map(({ row, decision }) => (runs(decision) ? worker.serves(row.lane) : undefined))
  const rooms = reserved(decided, places, worker)
  const firings = decided.map((due, i) => {
    const place = places[i]
    if (place === undefined) return planned(due, false, null)
    const startNow = takeFrom(rooms.get((due.line ?? LOCAL).id) as LineRoom, place)
    return planned(due, startNow, startNow ? null : (sideOf?.(due) ?? null))
  })
  for (const { line, free, ahead } of rooms.values()) if (free + ahead > 0) worker.release(line, free + ahead)
  return firings
}

const planned = (
  { row, definition, line = LOCAL, decision }: Decided,
  startNow: boolean,
  side: number | null,
): PlannedFiring => ({ row, definition, line, decision, startNow, side })

/** Reserves room, line by line, for all runs that the worker serves. */
function reserved(
  decided: readonly Decided[],
  places: readonly unknown[],
  worker: Pick<LocalWorker, 'reserve'>,
): ReadonlyMap<string, LineRoom> {
  const rooms = new Map<string, LineRoom>()
  for (const [i, { line = LOCAL }] of decided.entries()) {
    if (places[i] === undefined) continue
    const room = rooms.get(line.id)
    if (room) room.wanted++
    else rooms.set(line.id, { line, wanted: 1, free: 0, ahead: 0 })
  }
  for (const room of rooms.values()) Object.assign(room, worker.reserve(room.line, room.wanted))
  return rooms
}

function takeFrom(room: LineRoom, place: 'ahead' | 'free'): boolean {
  const from = room.free > 0 ? 'free' : place
  if (room[from] <= 0) return false
  room[from]--
  return true
}

/** Firings that one statement can carry out. */
export interface Group {
  readonly how: 'start' | 'queue' | 'recurring' | 'each' | 'overlap' | 'missed'
  readonly firings: readonly PlannedFiring[]
}

/** Whether the run starts here and the only other thing to do is to write the row that follows. */
const isRecurring = ({ startNow, decision: { skip, runFor, next, isLast } }: PlannedFiring) =>
  startNow && skip === null && runFor === null && next !== null && next.jitterMs === undefined && !isLast

/**
 * Groups firings by statement. Rows that just run have a cheap statement, in which all start or all wait; so have rows that
 * start and are followed by the next. Rows that may overlap need an expensive one, and the rest are fired one by one. All that
 * wait go in one statement, because with claims in strict order a run must not be in `ready` before one that was due earlier.
 */
export function grouped(firings: readonly PlannedFiring[]): Group[] {
  const isPlain = ({ decision }: PlannedFiring) => decision === JUST_RUN
  const waitsPlainly = firings.every((firing) => firing.startNow || isPlain(firing))
  const groups: Record<Group['how'], PlannedFiring[]> = {
    start: [],
    recurring: [],
    each: [],
    queue: [],
    overlap: [],
    missed: [],
  }
  for (const firing of firings) {
    const how = firing.startNow ? 'start' : waitsPlainly ? 'queue' : 'each'
    groups[isPlain(firing) ? how : statementFor(firing)].push(firing)
  }
  return (['start', 'recurring', 'each', 'queue', 'overlap', 'missed'] as const).flatMap((how) =>
    groups[how].length > 0 ? [{ how, firings: groups[how] }] : [],
  )
}

function statementFor(firing: PlannedFiring): Group['how'] {
  const { overlap, catchUp } = firing.decision
  if (catchUp !== null) return 'missed'
  if (overlap !== null) return 'overlap'
  return isRecurring(firing) ? 'recurring' : 'each'
}

/** Returns the queue timeouts of the due rows that have one. */
export const queueTimeoutsOf = (dues: readonly Due[]): QueueTimeout[] =>
  dues.flatMap(({ row: { runId, attempt, wakeAt }, definition: { queueTimeout } }) =>
    queueTimeout === null ? [] : [{ runId, attempt, wakeAt, waitMs: durationMs(queueTimeout) }],
  )

/** Builds the claim that the fire has granted. The statement does not return rows that are as they were requested. */
export function workOf({ row, definition, decision }: Decided): Work {
  return {
    runId: row.runId,
    taskId: row.taskId,
    version: row.version,
    definition,
    scheduledFor: decision.runFor ?? row.scheduledFor,
    wakeAt: row.wakeAt,
    fence: row.fence + 1,
    attempt: row.attempt + 1,
    losses: row.losses,
    lane: row.lane,
    ...(row.kind === 'manual' ? { kind: row.kind } : {}),
  }
}

/** Returns a row that the fire has left waiting, as reading it would return it. */
export function waitingOf({ row, decision }: Decided, { wakeAt }: HeldRow): DueRow {
  const state = decision.overlap?.deferUntil == null ? 'held' : 'deferred'
  return { ...row, state, wakeAt, fence: row.fence + 1 }
}

/** Returns the following row that the fire has just written, as reading it would return it. */
export function followerOf(
  { taskId, shard, version, ordinal, lane, priority }: DueRow,
  next: NonNullable<Decision['next']>,
  ran: number,
): DueRow {
  return {
    runId: next.runId,
    taskId,
    shard,
    version,
    ordinal: ordinal + ran,
    kind: 'occurrence',
    state: 'scheduled',
    wakeAt: next.at + (next.jitterMs ?? 0),
    scheduledFor: next.at,
    fence: 0,
    attempt: 0,
    losses: 0,
    lane,
    priority,
  }
}
