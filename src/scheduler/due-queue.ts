import type { KeptDefinition } from '../core/task/task.ts'
import { FairQueue } from '../runtime/fair-queue.ts'
import { Heap } from '../runtime/heap.ts'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { type Line, LOCAL } from '../transport/local-worker.ts'

/** A row that comes due, with the definition of its task. */
export interface Due {
  readonly row: DueRow
  readonly definition: KeptDefinition
  /** The line in which the run needs room; omitted for a slot on this machine. */
  readonly line?: Line
}

/** The due runs of one line. */
export interface DueLine {
  readonly line: Line
  readonly count: number
  /** When the next of them was due. */
  readonly dueSince: number
}

/** Limits for taking due rows. */
export interface Taking {
  readonly limit: number
  /** Whether another statement is firing a row of the task. */
  isBusy?(taskId: string): boolean
  /** Number of rows that may be taken of a line; any number if omitted. */
  roomFor?(line: DueLine): number
}

const byTime = (a: Due, b: Due) => a.row.wakeAt - b.row.wakeAt
const byTurn = (a: Due, b: Due) => a.row.priority - b.row.priority || a.row.wakeAt - b.row.wakeAt

const flowOf = ({ row: { taskId, kind, lane, priority }, definition: { projectId, schedule } }: Due) => ({
  priority,
  project: projectId,
  lane,
  task: schedule.type === 'once' && kind !== 'manual' ? '' : taskId,
})

/**
 * Whether the row runs regardless of other runs of its task and no row follows it. Any number of such rows can be fired
 * together.
 */
const isIndependent = ({ row: { kind, state }, definition }: Due) =>
  definition.overlap === 'allow' && (kind === 'manual' || state === 'retrying')

/** The due rows of a line, and how many of them may be taken in this pass. */
interface LineQueue {
  readonly line: Line
  readonly queue: FairQueue<Due>
  room: number
  taken: number
}

/** Orders by lower priority value first; then lines take turns. */
const byLineTurn = (a: LineQueue, b: LineQueue) =>
  (a.queue.first as Due).row.priority - (b.queue.first as Due).row.priority ||
  a.taken - b.taken ||
  (a.queue.first as Due).row.wakeAt - (b.queue.first as Due).row.wakeAt

/**
 * Rows that come due soon. Each run is in the queue once, in the state last read. Rows that are not yet due are ordered by
 * time. Due rows wait per line, so that none waits behind a line without room. They are taken by priority; under equal
 * priority, lines, projects, lanes and tasks take turns.
 */
export class DueQueue {
  readonly #later = new Heap<Due>(byTime)
  readonly #due = new Map<string, LineQueue>()
  #dueSize = 0
  /** Due rows of tasks of which another row goes first. They wait here so that other tasks do not wait behind them. */
  readonly #behind = new Map<string, Heap<Due>>()
  #behindSize = 0
  /** The highest fence with which each run was read; an older entry of the run in a heap is ignored. */
  readonly #fences = new Map<string, number>()

  get size(): number {
    return this.#later.size + this.#dueSize + this.#behindSize
  }

  /** When the next row must be handled; in the past while a row is due. */
  get nextAt(): number | undefined {
    const [behind] = this.#behind.values()
    const [line] = this.#due.values()
    return (line?.queue.first ?? behind?.first ?? this.#later.first)?.row.wakeAt
  }

  /** Returns every run in the queue that is due before an instant. */
  *runIdsBefore(instant: number): Iterable<string> {
    const due = Array.from(this.#due.values(), ({ queue }) => queue)
    for (const rows of [this.#later, ...due, ...this.#behind.values()])
      for (const { row } of rows) if (row.wakeAt < instant && this.holds(row)) yield row.runId
  }

  /** Whether the queue has the row in the state in which it was read now. */
  holds({ runId, fence }: DueRow): boolean {
    return this.#fences.get(runId) === fence
  }

  add(due: Due): void {
    // A row that was taken before and comes back is older than one that was read since.
    if ((this.#fences.get(due.row.runId) ?? -1) >= due.row.fence) return
    this.#fences.set(due.row.runId, due.row.fence)
    this.#later.push(due)
  }

  /**
   * Takes rows that are due up to an instant, at most `limit`. If firing a row depends on what else its task does, at most one
   * row of that task is taken, because two would not see each other, and none while another statement is firing a row of the
   * task. Nothing is taken of a line without room.
   */
  takeDue(upTo: number, { limit, isBusy = () => false, roomFor }: Taking): Due[] {
    while ((this.#later.first?.row.wakeAt ?? Number.POSITIVE_INFINITY) <= upTo)
      this.#pushDue(this.#later.pop() as Due)
    this.#bringForward(isBusy)
    const open = this.#openLines(roomFor)
    const taken: Due[] = []
    const tasks = new Set<string>()
    while (taken.length < limit) {
      const line = open.pop()
      if (!line) break
      const due = this.#popDue(line)
      if (this.holds(due.row)) {
        const { taskId } = due.row
        const isAlone = !isIndependent(due)
        if (isAlone && (tasks.has(taskId) || isBusy(taskId))) this.#putBehind(due)
        else {
          this.#fences.delete(due.row.runId)
          if (isAlone) tasks.add(taskId)
          taken.push(due)
          line.taken++
        }
      }
      if (line.queue.size > 0 && line.taken < line.room) open.push(line)
    }
    return taken
  }

  /** Returns the lines of which rows may be taken now. */
  #openLines(roomFor: Taking['roomFor']): Heap<LineQueue> {
    const open = new Heap(byLineTurn)
    for (const each of this.#due.values()) {
      const { line, queue } = each
      const dueSince = (queue.first as Due).row.wakeAt
      each.taken = 0
      each.room = roomFor ? roomFor({ line, count: queue.size, dueSince }) : Number.POSITIVE_INFINITY
      if (each.room > 0) open.push(each)
    }
    return open
  }

  #pushDue(due: Due): void {
    const line = due.line ?? LOCAL
    let of = this.#due.get(line.id)
    if (!of) {
      of = { line, queue: new FairQueue(flowOf, byTime), room: 0, taken: 0 }
      this.#due.set(line.id, of)
    }
    of.queue.push(due)
    this.#dueSize++
  }

  #popDue({ line, queue }: LineQueue): Due {
    const due = queue.pop() as Due
    this.#dueSize--
    if (queue.size === 0) this.#due.delete(line.id)
    return due
  }

  #putBehind(due: Due): void {
    const { taskId } = due.row
    const rows = this.#behind.get(taskId) ?? new Heap(byTurn)
    this.#behind.set(taskId, rows)
    rows.push(due)
    this.#behindSize++
  }

  /** Puts the first waiting row of each task back among the due rows once no other row of the task is being fired. */
  #bringForward(isBusy: (taskId: string) => boolean): void {
    for (const [taskId, rows] of this.#behind) {
      if (isBusy(taskId)) continue
      this.#pushDue(rows.pop() as Due)
      this.#behindSize--
      if (rows.size === 0) this.#behind.delete(taskId)
    }
  }

  /** Removes everything in shards that this node no longer owns. */
  retain(isWatched: (shard: number) => boolean): void {
    const behind = [...this.#behind.values()].flatMap((rows) => rows.clear())
    const due = Array.from(this.#due.values(), ({ queue }) => queue.clear()).flat()
    const all = [...behind, ...due, ...this.#later.clear()]
    this.#due.clear()
    this.#dueSize = 0
    const kept = all.filter(({ row }) => isWatched(row.shard))
    this.#behind.clear()
    this.#behindSize = 0
    this.#fences.clear()
    for (const due of kept.reverse()) this.add(due)
  }
}
