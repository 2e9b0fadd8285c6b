import { z } from 'zod'
import { ACTION_TYPES } from '../../../core/action/action.ts'
import {
  MISFIRE_POLICIES,
  OVERLAP_POLICIES,
  TASK_STATES,
  WORKER_LOSS_POLICIES,
} from '../../../core/task/task.ts'
import { Action } from '../../../operations/tasks/action-schema.ts'
import { type Includable, NEXT_SHOWN, RECENT_SHOWN } from '../../../operations/tasks/enrich-tasks.ts'
import { durationBetween, Instant, Uuid } from '../../../operations/validation/values.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Schedule } from '../schedules/schemas.ts'

const DAY_MS = 86_400_000

const label = (max: number) => z.string().min(1).max(max)

/** Clients take these two out of an address before they send it, so no request could name them. */
const UNADDRESSABLE = ['.', '..']

export const TaskKey = label(200)
  .refine((key) => !UNADDRESSABLE.includes(key), 'must not be . or .., which no address can name')
  .describe('Your own name for the task, unique in the project.')

/** The name of a queue, short enough for an address. */
export const QueueName = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/, 'must be 1 to 100 letters, digits, dots, dashes or underscores')

const Metadata = z
  .record(z.string().max(200), z.unknown())
  .refine(
    (value) => JSON.stringify(value).length <= 16_384,
    'must not be larger than 16384 characters as JSON',
  )

/** It travels in a header, so it is made of what headers are made of. */
const TracingId = z
  .string()
  .regex(/^[\x21-\x7e]([\x20-\x7e]{0,254}[\x21-\x7e])?$/, 'must be 1 to 256 visible ASCII characters')
  .describe('An id of your own that its requests, messages and log lines carry, in `belfry-tracing-id`.')

const fields = {
  name: label(200).nullable().optional(),
  key: TaskKey.nullable().optional(),
  owner: label(200).nullable().optional().describe('Whose task it is, to filter by.'),
  action: Action,
  schedule: Schedule.optional().describe('Left out: once, at startAt or now.'),
  startAt: Instant.nullable().optional().describe('Nothing is due before.'),
  endAt: Instant.nullable().optional().describe('Nothing is due after.'),
  maxRuns: z.int().min(1).max(2_000_000_000).nullable().optional(),
  jitter: durationBetween(0, DAY_MS, 'from 0s to 1d')
    .nullable()
    .optional()
    .describe(
      'Each occurrence begins up to so much later, the same each time it is asked about. Default none.',
    ),
  overlap: z.enum(OVERLAP_POLICIES).optional().describe('When due while a run is active. Default skip.'),
  misfire: z
    .strictObject({
      policy: z.enum(MISFIRE_POLICIES).optional(),
      window: durationBetween(0, 366 * DAY_MS, 'from 0s to 366d').optional(),
      cap: z
        .int()
        .min(1)
        .max(10_000)
        .optional()
        .describe('Under run_all: the latest so many are run. Default 100.'),
      rate: z
        .number()
        .min(0.01)
        .max(1_000)
        .optional()
        .describe('Under run_all: no more than so many come due in a second. Default 10.'),
    })
    .optional()
    .describe('For what came due while nobody was there. Default run_once within 1d.'),
  retry: z
    .strictObject({
      limit: z.int().min(0).max(100).optional(),
      initial: durationBetween(0, DAY_MS, 'from 0s to 1d').optional(),
      max: durationBetween(0, DAY_MS, 'from 0s to 1d').optional(),
    })
    .optional()
    .describe(
      'The backoff is `initial`, doubles with each failure, and is `max` at most; a retry waits half of it and up to as long again, at random. Default 3 retries from 1s up to 30s.',
    ),
  timeout: durationBetween(1, DAY_MS, 'from 1ms to 1d').optional().describe('Of one attempt. Default 20m.'),
  queueTimeout: durationBetween(1_000, 366 * DAY_MS, 'from 1s to 366d')
    .nullable()
    .optional()
    .describe('For how long a run that is due may wait for a worker. Default as long as it takes.'),
  onWorkerLoss: z
    .enum(WORKER_LOSS_POLICIES)
    .optional()
    .describe(
      'When the worker of a run dies. retry (default): it runs again, at least once. count: that uses up a retry. fail: at most once.',
    ),
  queue: QueueName.optional().describe('The queue its runs wait in. Default default.'),
  priority: z
    .int()
    .min(-1_000)
    .max(1_000)
    .optional()
    .describe('Among what waits in a queue the smaller number goes first. Default 0.'),
  concurrencyKey: label(200).nullable().optional().describe('Tasks with the same key share places.'),
  concurrencyLimit: z
    .int()
    .min(1)
    .max(100_000)
    .optional()
    .describe(
      'How many runs with this key may be in progress at once; what was said last counts. Default 1.',
    ),
  labels: z.array(label(100)).max(20).optional().describe('What a worker must offer to run it, such as gpu.'),
  tags: z.array(label(100)).max(50).optional(),
  metadata: Metadata.optional(),
  tracingId: TracingId.nullable().optional(),
}

export const CreateTask = z.strictObject(fields).meta({ id: 'CreateTask' })
export type CreateTask = z.output<typeof CreateTask>

/** A word on why something is changed, kept with the version that comes of it. */
export const Reason = label(500).describe('Why it is changed, for those who read the versions later.')

export const EditTask = z
  .strictObject({ ...fields, action: Action.optional(), reason: Reason.optional() })
  .refine(
    (edit) => Object.keys(edit).some((field) => field !== 'reason'),
    'must name at least one field to change',
  )
  .meta({ id: 'EditTask' })
export type EditTask = z.output<typeof EditTask>

/** A trigger decides about overlap for itself: it goes beside what is active, or is refused. */
const TRIGGER_OVERLAPS = ['skip', 'allow'] as const

export const TriggerTask = z
  .strictObject({
    action: z
      .record(z.string().max(100), z.unknown())
      .optional()
      .describe(
        'Members of the action to have otherwise: `body` of a webhook, `headers` (name by name) and `body` of an http, `duration` of a sleep.',
      ),
    queue: fields.queue,
    priority: fields.priority,
    timeout: fields.timeout,
    retry: fields.retry,
    overlap: z.enum(TRIGGER_OVERLAPS).optional().describe('allow: run beside whatever is active.'),
  })
  .describe('What this one run does otherwise than the task says.')
  .meta({ id: 'TriggerTask' })
export type TriggerTask = z.output<typeof TriggerTask>

const Words = label(500).nullable().optional()

export const PauseTask = z
  .strictObject({
    reason: Words.describe('Why, for whoever looks at the task meanwhile.'),
    until: Instant.nullable()
      .optional()
      .describe('When it goes on by itself. Left out or null: when it is resumed.'),
  })
  .meta({ id: 'PauseTask' })
export type PauseTask = z.output<typeof PauseTask>

export const ResumeTask = z
  .strictObject({ reason: Words.describe('Why, kept with the pause that it ends.') })
  .meta({ id: 'ResumeTask' })
export type ResumeTask = z.output<typeof ResumeTask>

export const SkipNext = z
  .strictObject({
    count: z.int().min(1).max(1_000).optional().describe('How many of the next occurrences. Default 1.'),
    reason: Words.describe('Why, for whoever looks at the task meanwhile.'),
  })
  .meta({ id: 'SkipNext' })
export type SkipNext = z.output<typeof SkipNext>

export const MAX_BULK = 10_000
export const CreateTasks = z
  .strictObject({
    tasks: z.array(CreateTask).min(1).max(MAX_BULK),
  })
  .meta({ id: 'CreateTasks' })

/** Answers are built by us, so they are described for readers and not checked again. */
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
    durationMs: z.int().nullable().describe('Of the last attempt.'),
  })
  .meta({ id: 'RecentRun' })

const INCLUDABLE: readonly Includable[] = ['recent', 'next']

/** What else to show of each task: parts that cost a little more to find out. */
const Include = z
  .string()
  .regex(/^(recent|next)(,(recent|next))*$/, `must be a list of ${INCLUDABLE.join(', ')}`)
  .transform((text) => text.split(',') as Includable[])
  .optional()
  .describe(
    `\`recent\`: its latest ${RECENT_SHOWN} runs. \`next\`: its next ${NEXT_SHOWN} instants, and the schedule in words. Both with a comma.`,
  )

export const ReadTask = z.strictObject({ include: Include })

export const Task = z
  .object({
    id: Uuid,
    key: z.string().nullable(),
    name: z.string().nullable(),
    owner: z.string().nullable(),
    state: z.enum(TASK_STATES),
    version: z.int(),
    type: z.enum(ACTION_TYPES).describe('Type of the action.'),
    payload: z.record(z.string(), z.unknown()).describe('The action without its type.'),
    action: z.unknown().meta({ $ref: '#/components/schemas/Action' }),
    schedule: z.unknown().meta({ $ref: '#/components/schemas/Schedule' }),
    startAt: Stored.nullable(),
    endAt: Stored.nullable(),
    maxRuns: z.int().nullable(),
    jitter: z.string().nullable(),
    overlap: z.enum(OVERLAP_POLICIES),
    misfire: z.object({
      policy: z.enum(MISFIRE_POLICIES),
      window: z.string(),
      cap: z.int(),
      rate: z.number(),
    }),
    retry: z.object({ limit: z.int(), initial: z.string(), max: z.string() }),
    timeout: z.string(),
    queueTimeout: z.string().nullable(),
    onWorkerLoss: z.enum(WORKER_LOSS_POLICIES),
    queue: z.string(),
    priority: z.int(),
    labels: z.array(z.string()),
    concurrencyKey: z.string().nullable(),
    concurrencyLimit: z.int(),
    tags: z.array(z.string()),
    metadata: z.record(z.string(), z.unknown()),
    tracingId: z.string().nullable(),
    nextFireAt: Stored.nullable().describe('The next occurrence, in UTC.'),
    nextFireLocal: z.string().nullable().describe("The same in the schedule's own zone."),
    timezone: z.string().nullable(),
    seed: z
      .string()
      .nullable()
      .describe(
        'What H in the schedule and jitter are drawn from; null when there is neither. A preview takes it.',
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
      .describe('The run that is pending, running or retrying now.'),
    createdAt: Stored,
    updatedAt: Stored,
    pausedAt: Stored.nullable(),
    pauseReason: z.string().nullable(),
    resumeAt: Stored.nullable().describe('When a pause ends by itself.'),
    skipNext: z
      .object({ until: Stored, reason: z.string().nullable() })
      .nullable()
      .describe('Occurrences up to this instant are skipped, because somebody asked for it.'),
    cancelledAt: Stored.nullable(),
    recent: z
      .array(RecentRun)
      .optional()
      .describe('With `include=recent`: the latest runs that have ended, the latest due instant first.'),
    next: z
      .array(z.object({ at: Stored, local: z.string() }))
      .optional()
      .describe(
        'With `include=next`: the instants at which it is due next, as its schedule has them; in UTC and in its own zone.',
      ),
    scheduleInWords: z.string().optional().describe('With `include=next`.'),
  })
  .meta({ id: 'Task' })
export type Task = z.output<typeof Task>

export const TaskPage = z
  .object({
    items: z.array(Task),
    nextCursor: z.string().nullable(),
    partial: z
      .boolean()
      .describe('The search ran out of time before the page was full. `nextCursor` continues it.'),
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
