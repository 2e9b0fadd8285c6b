/**
 * Types of requests and answers, taken from the server's own schemas. Only types are imported, so no server code ends up in the
 * browser.
 */
import type { z } from 'zod'
import type {
  AuditEntry as WireAuditEntry,
  AuditEntryWithChanges as WireAuditEntryWithChanges,
} from '../../src/api/resources/audit-log/schemas.ts'
import type {
  BackfillTask as BackfillTaskSchema,
  Backfill as WireBackfill,
  BackfillPreview as WireBackfillPreview,
} from '../../src/api/resources/backfills/schemas.ts'
import type {
  CreateBlackout as CreateBlackoutSchema,
  Blackout as WireBlackout,
} from '../../src/api/resources/blackouts/schemas.ts'
import type {
  DeadLetterFilter as DeadLetterFilterSchema,
  DeadLetterGroups as DeadLetterGroupsSchema,
  DeadLetter as DeadLetterSchema,
  Dismissed as DismissedSchema,
  RedriveForecast as RedriveForecastSchema,
  Redrive as WireRedrive,
} from '../../src/api/resources/dead-letters/schemas.ts'
import type {
  CreatedFile as WireCreatedFile,
  File as WireFile,
  FileInUse as WireFileInUse,
} from '../../src/api/resources/files/schemas.ts'
import type {
  Ledger as WireLedger,
  LedgerEntry as WireLedgerEntry,
} from '../../src/api/resources/ledger/schemas.ts'
import type {
  EditProject as EditProjectSchema,
  Project as WireProject,
} from '../../src/api/resources/projects/schemas.ts'
import type {
  EditQueue as EditQueueSchema,
  Queue as WireQueue,
} from '../../src/api/resources/queues/schemas.ts'
import type {
  LogEnd as WireLogEnd,
  LogLine as WireLogLine,
} from '../../src/api/resources/runs/log-schemas.ts'
import type {
  Attempt as WireAttempt,
  Run as WireRun,
  RunWithAttempts as WireRunWithAttempts,
} from '../../src/api/resources/runs/schemas.ts'
import type { Preview as WirePreview } from '../../src/api/resources/schedules/schemas.ts'
import type {
  CreateSubscription as CreateSubscriptionSchema,
  Subscription as WireSubscription,
} from '../../src/api/resources/subscriptions/schemas.ts'
import type {
  EditTarget as EditTargetSchema,
  Target as WireTarget,
} from '../../src/api/resources/targets/schemas.ts'
import type {
  CreateTask as CreateTaskSchema,
  TriggerTask as TriggerTaskSchema,
  Task as WireTask,
} from '../../src/api/resources/tasks/schemas.ts'
import type {
  TaskVersionSummary as TaskVersionSummarySchema,
  TaskVersion as WireTaskVersion,
} from '../../src/api/resources/versions/schemas.ts'
import type { WhyNotRunning as WireWhy } from '../../src/api/resources/why/schemas.ts'
import type { Action } from '../../src/core/action/action.ts'
import type { Schedule } from '../../src/core/schedule/schedule.ts'

export type { ActionType, HttpMethod } from '../../src/core/action/action.ts'
export type { RunState } from '../../src/core/run/run.ts'
export type { FoldPolicy, GapPolicy } from '../../src/core/schedule/daylight-saving.ts'
export type { TargetState } from '../../src/core/target/target-state.ts'
export type { TaskState } from '../../src/core/task/task.ts'
export type { Action, Schedule }

export type Task = Omit<WireTask, 'action' | 'schedule'> & {
  readonly action: Action
  readonly schedule: Schedule
}
export type Run = WireRun & {
  /** The result in a few words; set if the run came from the stream, which omits the output. */
  readonly outcome?: string
}
export type WhyNotRunning = WireWhy
export type Ledger = WireLedger
export type LedgerEntry = WireLedgerEntry
export type Attempt = WireAttempt
export type RunWithAttempts = Omit<z.output<typeof WireRunWithAttempts>, 'action'> & {
  /** The action according to the run's version of the task; null if that version is no longer known. */
  readonly action: Action | null
}
export type Preview = WirePreview
/** What a client sends to create a task. */
export type TaskInput = z.input<typeof CreateTaskSchema>
/** Overrides for one run. */
export type TriggerInput = z.input<typeof TriggerTaskSchema>
export type Backfill = WireBackfill
export type BackfillInput = z.input<typeof BackfillTaskSchema>
export type BackfillPreview = WireBackfillPreview
export type VersionSummary = z.output<typeof TaskVersionSummarySchema>
export type TaskVersion = WireTaskVersion
export type Project = WireProject
export type ProjectEdit = z.input<typeof EditProjectSchema>
export type BlackoutInput = z.input<typeof CreateBlackoutSchema>
export type Blackout = Omit<WireBlackout, 'window'> & { readonly window: BlackoutInput['window'] }
export type Subscription = WireSubscription
export type SubscriptionInput = z.input<typeof CreateSubscriptionSchema>
export type DeadLetter = z.output<typeof DeadLetterSchema>
export type LetterFilter = z.input<typeof DeadLetterFilterSchema>
export type LetterGroups = z.output<typeof DeadLetterGroupsSchema>
export type Dismissed = z.output<typeof DismissedSchema>
export type RedriveForecast = z.output<typeof RedriveForecastSchema>
export type Redrive = WireRedrive
export type AuditEntry = WireAuditEntry
export type AuditEntryWithChanges = WireAuditEntryWithChanges
export type Queue = WireQueue
export type QueueEdit = z.input<typeof EditQueueSchema>
export type LogLine = WireLogLine
export type LogEnd = WireLogEnd
export type StoredFile = WireFile
export type CreatedFile = WireCreatedFile
export type FileInUse = WireFileInUse
export type Target = WireTarget
export type TargetEdit = z.input<typeof EditTargetSchema>

/** A page of a list, and the cursor of the next one. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly nextCursor: string | null
}

/** A problem with one field, named by its JSON pointer. */
export interface FieldProblem {
  readonly pointer: string
  readonly detail: string
}

/** The body of every error response (RFC 9457). */
export interface Problem {
  readonly title: string
  readonly detail: string
  readonly status: number
  readonly code: string
  readonly requestId?: string
  readonly errors?: readonly FieldProblem[]
}

/** A schedule as the API accepts it. The server interprets words in their time zone. */
export type GivenSchedule =
  | Schedule
  | { readonly type: 'words'; readonly words: string; readonly timezone: string }
