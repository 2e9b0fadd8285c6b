import { z } from 'zod'
import { WHY_CODES } from '../../../core/why/why.ts'
import { formatCount } from '../../../core/words/time.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'
import { MAX_AHEAD } from '../../../operations/why/why.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const ReadWhy = z.strictObject({
  at: Instant.optional().describe('A past time. Default: now.'),
})

const facts = z
  .object({
    runId: Uuid.describe('The run concerned, or the run that blocks it.'),
    runState: z.string(),
    scheduledFor: Stored,
    since: Stored,
    until: Stored,
    nextAt: Stored.describe('Next occurrence of the task.'),
    attempt: z.int(),
    workerId: Uuid,
    queue: z.string(),
    key: z.string(),
    target: z.string().describe('The target that the calls of the task go to.'),
    rate: z.string(),
    limit: z.int(),
    held: z.int(),
    heldBy: z.array(Uuid).describe('Runs that used the slots at that time, at most 100.'),
    labels: z.array(z.string()),
    handler: z.string(),
    workers: z.int(),
    places: z.int(),
    ahead: z.int().describe(`Runs ahead of this one, counted up to ${formatCount(MAX_AHEAD)}.`),
    shard: z.int(),
    reason: z.string(),
    count: z.int(),
    name: z.string(),
    secrets: z.array(z.string()),
    files: z.array(Uuid).describe('Files that have not been uploaded.'),
  })
  .partial()
  .describe('Facts behind the cause; which fields are set depends on the code.')

const Cause = z.object({
  code: z.enum(WHY_CODES),
  sentence: z.string(),
  facts,
  advice: z.string().nullable().describe('What to do about it.'),
})

export const WhyNotRunning = z
  .object({
    at: Stored,
    isNow: z.boolean(),
    ...Cause.shape,
    also: z.array(Cause).describe('Other causes that prevent the task from running, or would.'),
  })
  .meta({ id: 'WhyNotRunning' })
export type WhyNotRunning = z.output<typeof WhyNotRunning>
