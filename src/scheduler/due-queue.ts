import type { KeptDefinition } from '../core/task/task.ts'
import { FairQueue } from '../runtime/fair-queue.ts'
import { Heap } from '../runtime/heap.ts'
import type { DueRow } from '../store/agenda/agenda.ts'
import { type Line, LOCAL } from '../transport/local-worker.ts'

/** A row that comes due, and what its task says. */
export interface Due {
  readonly row: DueRow
  readonly definition: KeptDefinition
  /** What it needs room in; left out: a slot on this machine. */
  readonly line?: Line
}

/** What is due of one line. */
export interface DueLine {
  readonly line: Line
  readonly count: number
  /** When the next of them was due. */
  readonly dueSince: number
}

/** What may be taken of what is due. */
export interface Taking {
  readonly limit: number
  /** Whether another statement is firing a row of a task just now. */
  isBusy?(taskId: string): boolean
  /** How many of a line; left out: any number. */
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

/** It runs whatever else its task does, and no row follows it: any number of them can be fired together. */
const isIndependent = ({ row: { kind, state }, definition }: Due) =>
  definition.overlap === 'allow' && (kind === 'manual' || state === 'retrying')

/** What is due of a line, and how many of it may be taken in this pass. */
interface LineQueue {
  readonly line: Line
  readonly queue: FairQueue<Due>
  room: number
  taken: number
}

/** The lower priority first; then lines take turns. */
const byLineTurn = (a: LineQueue, b: LineQueue) =>
  (a.queue.first as Due).row.priority - (b.queue.first as Due).row.priority ||
  a.taken - b.taken ||
  (a.queue.first as Due).row.wakeAt - (b.queue.first as Due).row.wakeAt

/**
 * What comes due soon. A run is held once, however often it is read, as it was read last. What is not due waits in order of time. What is due
 * waits line by line, so that nobody waits behind a line without room, and is taken by priority; under equal priority lines, projects, lanes and tasks
 * take turns.
 */
export class DueQueue {
  readonly #later = new Heap<Due>(byTime)
  readonly #due = new Map<string, LineQueue>()
  #dueSize = 0
  /** What is due of tasks of which another row goes first: it waits here, so that other tasks do not wait behind it. */
  readonly #behind = new Map<string, Heap<Due>>()
  #behindSize = 0
  /** The highest fence each run was read with; an older entry of it in a heap no longer counts. */
  readonly #fences = new Map<string, number>()

  get size(): number {
    return this.#later.size + this.#dueSize + this.#behindSize
  }

  /** When something must be looked at; in the past while there is something due. */
  get nextAt(): number | undefined {
    const [behind] = this.#behind.values()
    const [line] = this.#due.values()
    return (line?.queue.first ?? behind?.first ?? this.#later.first)?.row.wakeAt
  }

  /** Every run that is held, as due before an instant. */
  *runIdsBefore(instant: number): Iterable<string> {
    const due = Array.from(this.#due.values(), ({ queue }) => queue)
    for (const rows of [this.#later, ...due, ...this.#behind.values()])
      for (const { row } of rows) if (row.wakeAt < instant && this.holds(row)) yield row.runId
  }

  /** Whether a row is held as it was read now. */
  holds({ runId, fence }: DueRow): boolean {
    return this.#fences.get(runId) === fence
  }

  add(due: Due): void {
    // One that was taken before and comes back says less than what was read since.
    if ((this.#fences.get(due.row.runId) ?? -1) >= due.row.fence) return
    this.#fences.set(due.row.runId, due.row.fence)
    this.#later.push(due)
  }

  /**
   * Takes what is due up to an instant, at most `limit`. Of a task at most one row is taken about which the statement
   * that fires it has to decide by what else the task does: two of them would not see each other. And none such is taken while
   * another statement is firing a row of its task. Nothing is taken of a line without room.
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

  /** The lines of which something may be taken now. */
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

  /** The first that waits of each task takes its turn again, once no other row of the task is being fired. */
  #bringForward(isBusy: (taskId: string) => boolean): void {
    for (const [taskId, rows] of this.#behind) {
      if (isBusy(taskId)) continue
      this.#pushDue(rows.pop() as Due)
      this.#behindSize--
      if (rows.size === 0) this.#behind.delete(taskId)
    }
  }

  /** Forgets everything in shards that are no longer watched here. */
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
