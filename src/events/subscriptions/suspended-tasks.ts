/**
 * Suspended tasks: the receiver rejects their events while it accepts those of others. The events of each are delivered
 * separately, from where it stopped, until it has caught up with the others; until then the others skip its events, so no event
 * overtakes another. This needs no storage of events: those not yet delivered for a task are in history, between its position
 * and that of the others.
 */
import { covers, type EventPosition, formatPosition, parsePosition } from '../../core/run/frontier.ts'
import type { Database } from '../../store/database/database.ts'
import type { SuspendedTask } from '../../store/events/subscriptions.ts'
import { type HistoryPage, readPage } from '../history-page.ts'
import { backoffMs } from './backoff.ts'
import type { Undelivered } from './message.ts'

/** With more suspended tasks than this, the receiver is considered failing, and nothing is sent until it is retried. */
export const MAX_SUSPENDED_TASKS = 100

/** The others wait for a task that is no further behind than this. */
const NEAR_US = 10_000_000

/** A suspended task. */
export interface Suspended extends Omit<SuspendedTask, 'position'> {
  position: EventPosition
  failures: number
  failingSince: number
  retryAt: number | null
  lastError: SuspendedTask['lastError']
  isBusy: boolean
}

export class SuspendedTasks {
  readonly #tasks = new Map<string, Suspended>()
  /** Tasks that are not stored yet. */
  readonly #unsaved = new Set<string>()
  #isChanged = false
  readonly #random: () => number

  constructor(stored: readonly SuspendedTask[], random: () => number) {
    this.#random = random
    for (const task of stored) {
      const position = parsePosition(task.position)
      if (position) this.#tasks.set(task.taskId, { ...task, position, isBusy: false })
    }
  }

  has(taskId: string): boolean {
    return this.#tasks.has(taskId)
  }

  get isFull(): boolean {
    return this.#tasks.size >= MAX_SUSPENDED_TASKS
  }

  /** Whether there are changes that are not stored yet. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** Whether some task is failing, or was given up. */
  get isFailing(): boolean {
    return [...this.#tasks.values()].some(({ failures }) => failures > 0)
  }

  /** Suspends a task from a position on. */
  suspend(
    { taskId, target }: Pick<SuspendedTask, 'taskId' | 'target'>,
    position: EventPosition,
    now: number,
  ): Suspended {
    const task: Suspended = {
      taskId,
      ...(target ? { target } : {}),
      position,
      failures: 0,
      failingSince: Math.floor(now),
      retryAt: Math.floor(now),
      lastError: null,
      isBusy: false,
    }
    this.#tasks.set(taskId, task)
    this.#unsaved.add(taskId)
    this.#isChanged = true
    return task
  }

  /** Records a rejected event: it is retried later, or given up if it has failed for too long. */
  noteFailure(
    task: Suspended,
    { error, retryAfterMs }: Undelivered,
    { now, giveUpAfterMs }: { now: number; giveUpAfterMs: number },
  ): void {
    if (task.failures === 0) task.failingSince = Math.floor(now)
    const waitMs = Math.max(retryAfterMs ?? 0, backoffMs(task.failures, this.#random))
    task.failures++
    task.lastError = { ...error, at: Math.floor(now) }
    task.retryAt = now - task.failingSince >= giveUpAfterMs ? null : Math.ceil(now + waitMs)
    this.#isChanged = true
  }

  /** Records an accepted event. */
  noteTaken(task: Suspended, position: EventPosition, now: number): void {
    this.moveTo(task, position)
    task.failures = 0
    task.lastError = null
    task.retryAt = Math.floor(now)
  }

  moveTo(task: Suspended, position: EventPosition): void {
    task.position = position
    this.#isChanged = true
  }

  /** Returns the tasks to retry now, limited so that at most `most` are in progress. */
  due(now: number, most: number): readonly Suspended[] {
    const tasks = [...this.#tasks.values()]
    const free = most - tasks.filter(({ isBusy }) => isBusy).length
    return tasks
      .filter(({ isBusy, retryAt }) => !isBusy && retryAt !== null && retryAt <= now)
      .slice(0, Math.max(0, free))
  }

  /** When the next task is due; null if none is. */
  get nextAt(): number | null {
    const idle = [...this.#tasks.values()].filter(({ isBusy }) => !isBusy)
    const instants = idle.flatMap(({ retryAt }) => retryAt ?? [])
    return instants.length === 0 ? null : Math.min(...instants)
  }

  /** Returns a task whose events are accepted again and that has almost caught up. */
  nearly({ from, to }: EventPosition): Suspended | undefined {
    if (to !== null) return undefined
    const isNear = ({ position }: Suspended) => from.fromUs - position.from.fromUs < NEAR_US
    return [...this.#tasks.values()].find((task) => !task.isBusy && task.failures === 0 && isNear(task))
  }

  /** Resumes the tasks that have caught up with the others. Only for the code that moves the position of the others. */
  release(position: EventPosition): void {
    if (position.to !== null) return
    for (const { taskId, isBusy, position: at } of [...this.#tasks.values()])
      if (!isBusy && at.to === null && covers(at.from, position.from)) this.#drop(taskId)
  }

  /** Drops tasks that are not stored yet: the receiver is failing, not they. */
  dropUnsaved(): void {
    for (const taskId of [...this.#unsaved]) this.#drop(taskId)
  }

  #drop(taskId: string): void {
    this.#tasks.delete(taskId)
    this.#unsaved.delete(taskId)
    this.#isChanged = true
  }

  /** Returns all tasks for storing; null if nothing has changed. */
  toStore(): readonly SuspendedTask[] | null {
    if (!this.#isChanged) return null
    this.#isChanged = false
    this.#unsaved.clear()
    return [...this.#tasks.values()].map(({ isBusy, position, ...task }) => ({
      ...task,
      position: formatPosition(position),
    }))
  }
}

/** Reads the events of a task that the others have passed; returns null if there are none. */
export function readSuspended(
  db: Database,
  { taskId, position }: Suspended,
  others: EventPosition,
): Promise<HistoryPage> | null {
  if (position.to !== null) return readPage(db, position, { stream: taskId })
  if (covers(position.from, others.from)) return null
  return readPage(db, { from: position.from, to: others.from, at: null }, { stream: taskId })
}
