import { z } from 'zod'
import { ACTION_TYPES } from '../../../core/action/action.ts'
import { OVERRIDABLE } from '../../../core/run/run-override.ts'
import { TASK_STATES } from '../../../core/task/task.ts'
import type { TaskCreation, TaskEdit } from '../../../core/task/task-input.ts'
import { type Includable, NEXT_SHOWN, RECENT_SHOWN } from '../../../operations/tasks/enrich-tasks.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { fieldValue, GIVEN_FIELDS, SHOWN_FIELDS } from './field-schemas.ts'

export const TaskKey = fieldValue('key').describe('Your own identifier for the task, unique in the project.')

/** The name of a queue, short enough for an address. */
export const QueueName = fieldValue('queue')

const Paused = z
  .boolean()
  .describe(
    'Create the task paused: no occurrence is due until it is resumed. Replacing a task does not change whether it is paused.',
  )

export const CreateTask: z.ZodType<TaskCreation, TaskCreation> = z
  .strictObject({ ...GIVEN_FIELDS, action: GIVEN_FIELDS.action.unwrap(), paused: Paused.optional() })
  .meta({ id: 'CreateTask' })

/** The reason for a change, kept with the version that it creates. */
export const Reason = z
  .string()
  .min(1)
  .max(500)
  .describe('Reason for the change, recorded with the new version.')

export const EditTask: z.ZodType<TaskEdit, TaskEdit> = z
  .strictObject({ ...GIVEN_FIELDS, reason: Reason.optional() })
  .refine(
    (edit) => Object.keys(edit).some((field) => field !== 'reason'),
    'must name at least one field to change',
  )
  .meta({ id: 'EditTask' })

/** A trigger has an overlap policy of its own: it runs beside active runs, or is rejected. */
const TRIGGER_OVERLAPS = ['skip', 'allow'] as const

const OVERRIDABLE_FIELDS = Object.entries(OVERRIDABLE)
  .filter(([, fields]) => fields.length > 0)
  .map(([type, fields]) => `${type} (${fields.map((field) => `\`${field}\``).join(', ')})`)
  .join(', ')

export const TriggerTask = z
  .strictObject({
    action: z
      .record(z.string().max(100), z.unknown())
      .optional()
      .describe(
        `Fields of the action to override. By action type: ${OVERRIDABLE_FIELDS}. Headers are merged by name; \`stdin\` of a program with environment variables or secrets cannot be overridden.`,
      ),
    queue: GIVEN_FIELDS.queue,
    priority: GIVEN_FIELDS.priority,
    timeout: GIVEN_FIELDS.timeout,
    retry: GIVEN_FIELDS.retry,
    overlap: z
      .enum(TRIGGER_OVERLAPS)
      .optional()
      .describe('allow: run even if another run of the task is active.'),
  })
  .describe('Overrides for this run.')
  .meta({ id: 'TriggerTask' })

const Words = z.string().min(1).max(500).nullable().optional()

export const PauseTask = z
  .strictObject({
    reason: Words.describe('Reason, shown with the task.'),
    until: Instant.nullable()
      .optional()
      .describe('When the task resumes automatically. Omitted or null: only when it is resumed.'),
  })
  .meta({ id: 'PauseTask' })

export const ResumeTask = z
  .strictObject({ reason: Words.describe('Reason, recorded with the pause.') })
  .meta({ id: 'ResumeTask' })

export const SkipNext = z
  .strictObject({
    count: z.int().min(1).max(1_000).optional().describe('Number of occurrences to skip. Default 1.'),
    reason: Words.describe('Reason, shown with the task.'),
  })
  .meta({ id: 'SkipNext' })

export const MAX_BULK = 10_000
export const CreateTasks = z
  .strictObject({
    tasks: z.array(CreateTask).min(1).max(MAX_BULK),
  })
  .meta({ id: 'CreateTasks' })

/** Belfry builds responses itself, so their schemas are documentation and are not validated. */
const Stored = z.string().meta({ format: 'date-time' })

const EndedState = z.enum(['completed', 'permanently_failed', 'cancelled', 'skipped'])

const RecentRun = z
  .object({
    id: Uuid,
    state: EndedState,
    reason: z.string().nullable(),
    scheduledFor: Stored,
    startedAt: Stored.nullable(),
    endedAt: Stored,
    latenessMs: z.int().nullable(),
    durationMs: z.int().nullable().describe('Duration of the last attempt.'),
  })
  .meta({ id: 'RecentRun' })

const INCLUDABLE: readonly Includable[] = ['recent', 'next']

/** Optional parts of each task, which cost a little more to read. */
const Include = z
  .string()
  .regex(/^(recent|next)(,(recent|next))*$/, `must be a list of ${INCLUDABLE.join(', ')}`)
  .transform((text) => text.split(',') as Includable[])
  .optional()
  .describe(
    `\`recent\`: its latest ${RECENT_SHOWN} runs. \`next\`: its next ${NEXT_SHOWN} instants, and the schedule in words. Use \`recent,next\` for both.`,
  )

export const ReadTask = z.strictObject({ include: Include })

export const Task = z
  .object({
    ...SHOWN_FIELDS,
    id: Uuid,
    state: z.enum(TASK_STATES),
    version: z.int(),
    type: z.enum(ACTION_TYPES).describe('Type of the action.'),
    payload: z.record(z.string(), z.unknown()).describe('The action without its type.'),
    nextFireAt: Stored.nullable().describe('The next occurrence, in UTC.'),
    nextFireLocal: z.string().nullable().describe('The next occurrence in the time zone of the schedule.'),
    timezone: z.string().nullable(),
    seed: z
      .string()
      .nullable()
      .describe(
        'Seed of H in the schedule and of jitter; null if the task uses neither. Can be passed to a preview.',
      ),
    openRun: z
      .object({
        id: Uuid,
        state: z.enum(['pending', 'running', 'retrying']),
        scheduledFor: Stored,
        attempt: z.int(),
        retries: z.int(),
      })
      .nullable()
      .describe('The current run: pending, running or retrying.'),
    createdAt: Stored,
    updatedAt: Stored,
    pausedAt: Stored.nullable(),
    pauseReason: z.string().nullable(),
    resumeAt: Stored.nullable().describe('When the pause ends automatically.'),
    skipNext: z
      .object({ until: Stored, reason: z.string().nullable() })
      .nullable()
      .describe('Occurrences up to this time are skipped at the request of a user.'),
    cancelledAt: Stored.nullable(),
    recent: z
      .array(RecentRun)
      .optional()
      .describe('With `include=recent`: the latest ended runs, by due time, latest first.'),
    next: z
      .array(z.object({ at: Stored, local: z.string() }))
      .optional()
      .describe('With `include=next`: the next occurrences, in UTC and in the time zone of the schedule.'),
    scheduleInWords: z.string().optional().describe('With `include=next`: the schedule in words.'),
  })
  .meta({ id: 'Task' })
export type Task = z.output<typeof Task>

/** What a user decided about a task: all its fields. */
export const TaskFields = z.object(SHOWN_FIELDS)

export const TaskPage = z
  .object({
    items: z.array(Task),
    nextCursor: z.string().nullable(),
    partial: z
      .boolean()
      .describe('True if the search ran out of time before the page was full. Continue with `nextCursor`.'),
  })
  .meta({ id: 'TaskPage' })
export const TaskItems = z.object({ items: z.array(Task) }).meta({ id: 'TaskItems' })

export const ListTasks = z.strictObject({
  state: z.enum(TASK_STATES).optional(),
  type: z.enum(ACTION_TYPES).optional(),
  tag: z.string().min(1).max(100).optional(),
  owner: z.string().min(1).max(200).optional(),
  q: z.string().min(1).max(200).optional().describe('Part of the name or key.'),
  include: Include,
  limit: Limit,
  cursor: Cursor,
})
