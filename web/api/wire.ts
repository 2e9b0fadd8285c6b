/**
 * What goes over the wire, as the server's own schemas say it. Only types are taken from there: no line of the
 * server gets into the browser.
 */
import type { z } from 'zod'
import type { Ledger as WireLedger, LedgerEntry as WireLedgerEntry } from '../../src/api/schemas/ledger.ts'
import type {
  Attempt as WireAttempt,
  Run as WireRun,
  RunWithAttempts as WireRunWithAttempts,
} from '../../src/api/schemas/run.ts'
import type { Preview as WirePreview } from '../../src/api/schemas/schedule.ts'
import type { CreateTask as CreateTaskSchema, Task as WireTask } from '../../src/api/schemas/task.ts'
import type { WhyNotRunning as WireWhy } from '../../src/api/schemas/why.ts'
import type { Action } from '../../src/core/action.ts'
import type { Schedule } from '../../src/core/schedule/schedule.ts'

export type { ActionType, HttpMethod } from '../../src/core/action.ts'
export type { RunState } from '../../src/core/run.ts'
export type { FoldPolicy, GapPolicy } from '../../src/core/schedule/schedule.ts'
export type { TaskState } from '../../src/core/task.ts'
export type { Action, Schedule }

export type Task = Omit<WireTask, 'action' | 'schedule'> & {
  readonly action: Action
  readonly schedule: Schedule
}
export type Run = WireRun
export type WhyNotRunning = WireWhy
export type Ledger = WireLedger
export type LedgerEntry = WireLedgerEntry
export type Attempt = WireAttempt
export type RunWithAttempts = Omit<z.output<typeof WireRunWithAttempts>, 'action'> & {
  /** What it does, by its own version of the task; null when that is not known any more. */
  readonly action: Action | null
}
export type Preview = WirePreview
/** What a client sends to create a task. */
export type TaskInput = z.input<typeof CreateTaskSchema>

/** A page of a list, and where the next one begins. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

/** One field that was wrong, by its JSON pointer. */
export interface FieldProblem {
  readonly pointer: string
  readonly detail: string
}

/** Every answer that is not a success (RFC 9457). */
export interface Problem {
  readonly title: string
  readonly detail: string
  readonly status: number
  readonly code: string
  readonly requestId?: string
  readonly errors?: readonly FieldProblem[]
}
