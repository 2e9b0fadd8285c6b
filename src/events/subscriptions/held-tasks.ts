/**
 * Tasks whose events a receiver does not take while it takes those of others. Each is told by itself, from where it
 * stopped, until it has come as far as all the others; until then they pass its events by, so nothing overtakes. No event is
 * stored for that: what a task was not told yet stands in history, between its position and theirs.
 */
import { covers, type EventPosition, formatPosition, parsePosition } from '../../core/run/frontier.ts'
import type { Database } from '../../store/database/database.ts'
import type { HeldTask } from '../../store/events/subscriptions.ts'
import { type HistoryPage, readPage } from '../history-tail.ts'
import { backoffMs } from './backoff.ts'
import type { Undelivered } from './message.ts'

/** With more of them it is the receiver that fails, and nothing is sent to it until it is tried again. */
export const MAX_HELD_TASKS = 100

/** Whoever is no further behind than this is waited for. */
const NEAR_US = 10_000_000

/** A task that is told by itself. */
export interface Held extends Omit<HeldTask, 'position'> {
  position: EventPosition
  failures: number
  failingSince: number
  retryAt: number | null
  lastError: HeldTask['lastError']
  isBusy: boolean
}

export class HeldTasks {
  readonly #tasks = new Map<string, Held>()
  /** Those that nobody but this process knows of. */
  readonly #unsaved = new Set<string>()
  #isChanged = false
  readonly #random: () => number

  constructor(stored: readonly HeldTask[], random: () => number) {
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
    return this.#tasks.size >= MAX_HELD_TASKS
  }

  /** Whether something happened to them that the database does not know. */
  get isChanged(): boolean {
    return this.#isChanged
  }

  /** Whether some task is failing, or was given up. */
  get isFailing(): boolean {
    return [...this.#tasks.values()].some(({ failures }) => failures > 0)
  }

  /** Begins to tell a task by itself, from a position on. */
  hold({ taskId, target }: Pick<HeldTask, 'taskId' | 'target'>, position: EventPosition, now: number): Held {
    const held: Held = {
      taskId,
      ...(target ? { target } : {}),
      position,
      failures: 0,
      failingSince: Math.floor(now),
      retryAt: Math.floor(now),
      lastError: null,
      isBusy: false,
    }
    this.#tasks.set(taskId, held)
    this.#unsaved.add(taskId)
    this.#isChanged = true
    return held
  }

  /** An event of a task was not taken: it is tried again later, or no more when that has gone on for too long. */
  noteFailure(
    held: Held,
    { error, retryAfterMs }: Undelivered,
    { now, giveUpAfterMs }: { now: number; giveUpAfterMs: number },
  ): void {
    if (held.failures === 0) held.failingSince = Math.floor(now)
    const waitMs = Math.max(retryAfterMs ?? 0, backoffMs(held.failures, this.#random))
    held.failures++
    held.lastError = { ...error, at: Math.floor(now) }
    held.retryAt = now - held.failingSince >= giveUpAfterMs ? null : Math.ceil(now + waitMs)
    this.#isChanged = true
  }

  /** An event of a task was taken. */
  noteTaken(held: Held, position: EventPosition, now: number): void {
    this.moveTo(held, position)
    held.failures = 0
    held.lastError = null
    held.retryAt = Math.floor(now)
  }

  moveTo(held: Held, position: EventPosition): void {
    held.position = position
    this.#isChanged = true
  }

  /** Those to try now, of which as many as may be tried at once. */
  due(now: number, most: number): readonly Held[] {
    const tasks = [...this.#tasks.values()]
    const free = most - tasks.filter(({ isBusy }) => isBusy).length
    return tasks
      .filter(({ isBusy, retryAt }) => !isBusy && retryAt !== null && retryAt <= now)
      .slice(0, Math.max(0, free))
  }

  /** When the next one is due. */
  get nextAt(): number | null {
    const idle = [...this.#tasks.values()].filter(({ isBusy }) => !isBusy)
    const instants = idle.flatMap(({ retryAt }) => retryAt ?? [])
    return instants.length === 0 ? null : Math.min(...instants)
  }

  /** One that is taken again and has hardly anything left to be told. */
  nearly({ from, to }: EventPosition): Held | undefined {
    if (to !== null) return undefined
    const isNear = ({ position }: Held) => from.fromUs - position.from.fromUs < NEAR_US
    return [...this.#tasks.values()].find((held) => !held.isBusy && held.failures === 0 && isNear(held))
  }

  /** Lets those go that were told as much as all the others. Only for whoever moves the position of these. */
  release(position: EventPosition): void {
    if (position.to !== null) return
    for (const { taskId, isBusy, position: at } of [...this.#tasks.values()])
      if (!isBusy && at.to === null && covers(at.from, position.from)) this.#drop(taskId)
  }

  /** Forgets those that were not stored yet: it is the receiver that fails, not they. */
  dropUnsaved(): void {
    for (const taskId of [...this.#unsaved]) this.#drop(taskId)
  }

  #drop(taskId: string): void {
    this.#tasks.delete(taskId)
    this.#unsaved.delete(taskId)
    this.#isChanged = true
  }

  /** Everything, for the database; null when it knows it already. */
  toStore(): readonly HeldTask[] | null {
    if (!this.#isChanged) return null
    this.#isChanged = false
    this.#unsaved.clear()
    return [...this.#tasks.values()].map(({ isBusy, position, ...task }) => ({
      ...task,
      position: formatPosition(position),
    }))
  }
}

/** What a task was not told yet of what the others have passed by; null when that is nothing. */
export function readHeld(
  db: Database,
  { taskId, position }: Held,
  others: EventPosition,
): Promise<HistoryPage> | null {
  if (position.to !== null) return readPage(db, position, { stream: taskId })
  if (covers(position.from, others.from)) return null
  return readPage(db, { from: position.from, to: others.from, at: null }, { stream: taskId })
}
