import { z } from 'zod'
import { parseInstant } from '../../../core/schedule/instant.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import { GROUPINGS } from '../../../store/history/dead-letters.ts'
import { REDRIVE_STATES } from '../../../store/history/redrives.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Run } from '../runs/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })
const MAX_RUN_IDS = 1_000

const Fingerprint = z
  .string()
  .regex(/^[0-9a-f]{16}$/, 'must be the fingerprint of a group, 16 hexadecimal digits')
  .meta({ example: '3f1c0a9b7e25d4c8' })

/** An instant that cannot be read is refused where it stands. */
const isOrdered = ({ from, to }: { from?: string | undefined; to?: string | undefined }) => {
  const [begin, end] = [parseInstant(from ?? ''), parseInstant(to ?? '')]
  return !begin.ok || !end.ok || begin.at < end.at
}
const unordered = { path: ['to'], message: 'must be after from' }

const which = {
  taskId: Uuid.optional().describe('Only runs of this task.'),
  fingerprint: Fingerprint.optional().describe('Only runs that failed like this.'),
  from: Instant.optional().describe('Only runs that ended at this instant or later.'),
  to: Instant.optional().describe('Only runs that ended before this instant.'),
}

export const ListDeadLetters = z
  .strictObject({ ...which, limit: Limit, cursor: Cursor })
  .refine(isOrdered, unordered)

export const GroupDeadLetters = z
  .strictObject({ by: z.enum(GROUPINGS).default('error'), ...which, limit: Limit })
  .refine(isOrdered, unordered)

export const DeadLetterFilter = z
  .strictObject({
    ...which,
    runIds: z.array(Uuid).min(1).max(MAX_RUN_IDS).optional().describe('Only these runs.'),
  })
  .refine(isOrdered, unordered)
  .describe('All that is given must match. An empty filter means every open dead letter.')
  .meta({ id: 'DeadLetterFilter' })
export type DeadLetterFilter = z.output<typeof DeadLetterFilter>

export const DeadLetter = Run.extend({
  fingerprint: Fingerprint.describe('What it has in common with others that failed alike.'),
}).meta({ id: 'DeadLetter' })

export const DeadLetterPage = z
  .object({ items: z.array(DeadLetter), nextCursor: z.string().nullable() })
  .meta({ id: 'DeadLetterPage' })

export const DeadLetterGroup = z
  .object({
    key: z.string().describe('The fingerprint, the id of the task, or the hour.'),
    code: z.string().nullable(),
    status: z.int().nullable().describe('The HTTP status that was answered, where one was.'),
    pattern: z.string().nullable().describe('The message without what differs from one run to the next.'),
    taskId: Uuid.nullable().describe('When all are of one task.'),
    taskName: z.string().nullable(),
    count: z.int(),
    tasks: z.int().describe('How many tasks they are of.'),
    firstAt: Stored,
    lastAt: Stored,
    sample: z.object({ runId: Uuid, message: z.string().nullable() }).describe('The latest of them.'),
  })
  .meta({ id: 'DeadLetterGroup' })

export const DeadLetterGroups = z
  .object({
    items: z.array(DeadLetterGroup).describe('The largest first.'),
    isComplete: z.boolean().describe('False: there are more than were looked at, the latest of them.'),
  })
  .meta({ id: 'DeadLetterGroups' })

export const DismissDeadLetters = z
  .strictObject({ filter: DeadLetterFilter, dryRun: z.boolean().optional() })
  .meta({ id: 'DismissDeadLetters' })

export const Dismissed = z
  .object({
    count: z.int().describe('How many were dismissed, or would be.'),
    isComplete: z.boolean().describe('False: there may be more that match. Ask again.'),
  })
  .meta({ id: 'Dismissed' })

export const RedriveDeadLetters = z
  .strictObject({
    filter: DeadLetterFilter,
    rate: z.number().min(0.01).max(100).optional().describe('Runs a second. Default 10.'),
    dryRun: z.boolean().optional().describe('Only say how many it would be.'),
  })
  .meta({ id: 'RedriveDeadLetters' })
export type RedriveDeadLetters = z.output<typeof RedriveDeadLetters>

export const RedriveForecast = z
  .object({
    count: z.int().describe('How many match, counted up to 10 000.'),
    endedTasks: z.int().describe('Those of them whose task has ended: they cannot be run again.'),
    isComplete: z.boolean().describe('False: there may be more that match.'),
  })
  .meta({ id: 'RedriveForecast' })

export const Redrive = z
  .object({
    id: Uuid,
    state: z
      .enum(REDRIVE_STATES)
      .describe('expired: it took longer than a day, as when another run of a task never ends.'),
    filter: DeadLetterFilter,
    rate: z.number(),
    redriven: z.int(),
    refused: z.int().describe('Runs that cannot be run again: their tasks have ended, or no longer fit.'),
    waiting: z.int().describe('Runs that wait until another one of their task has ended.'),
    lastError: z.string().nullable(),
    createdAt: Stored,
    endedAt: Stored.nullable(),
  })
  .meta({ id: 'Redrive' })
export type Redrive = z.output<typeof Redrive>

export const RedrivePage = z
  .object({ items: z.array(Redrive), nextCursor: z.string().nullable() })
  .meta({ id: 'RedrivePage' })
export const ListRedrives = z.strictObject({ limit: Limit, cursor: Cursor })
