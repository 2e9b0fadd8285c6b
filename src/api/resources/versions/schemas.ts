/** Versions of a task: their definitions, and what they changed. */

import { z } from 'zod'
import { MAX_CHANGES } from '../../../core/task/version-diff.ts'
import { MAX_INTEGER } from '../../../core/values/integer.ts'
import { Cursor, Limit } from '../../http/schemas/page.ts'
import { Reason, TaskFields } from '../tasks/schemas.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const FieldChange = z
  .object({
    field: z.string().describe('Path of the field, such as `schedule.expression`.'),
    before: z.unknown(),
    after: z.unknown(),
    isCut: z.boolean().describe('True if a value was too long and only the beginning of its JSON is shown.'),
  })
  .meta({ id: 'FieldChange' })

const summary = {
  version: z.int(),
  isCurrent: z.boolean(),
  madeAt: Stored,
  madeBy: z.string().nullable().describe('Address that the change was requested from.'),
  reason: z.string().nullable(),
  rollbackOf: z.int().nullable().describe('The version that was restored.'),
  changes: z
    .array(FieldChange)
    .describe(
      `Changes from the previous version: at most ${MAX_CHANGES} fields. Empty for the first version.`,
    ),
}

export const TaskVersionSummary = z.object(summary).meta({ id: 'TaskVersionSummary' })

export const TaskVersion = z
  .object({
    ...summary,
    definition: TaskFields.describe('The complete definition, in the form used to create a task.'),
  })
  .meta({ id: 'TaskVersion' })
export type TaskVersion = z.output<typeof TaskVersion>

export const TaskVersionPage = z
  .object({ items: z.array(TaskVersionSummary), nextCursor: z.string().nullable() })
  .meta({ id: 'TaskVersionPage' })

export const ListVersions = z.strictObject({ limit: Limit, cursor: Cursor })

const rule = 'must be a whole number of at least 1'

/** The number of a version in a path: the digits are checked before the conversion to a number. */
export const VersionNumber = z
  .string()
  .regex(/^[1-9]\d{0,9}$/, rule)
  .transform(Number)
  .refine((version) => version <= MAX_INTEGER, rule)
  .meta({ type: 'integer', minimum: 1, maximum: MAX_INTEGER })

export const RollbackTask = z
  .strictObject({
    version: z.int().min(1).max(MAX_INTEGER).describe('The version to restore.'),
    reason: Reason.optional(),
  })
  .meta({ id: 'RollbackTask' })
