import { z } from 'zod'
import { WHY_CODES } from '../../../core/why/why.ts'
import { Instant, Uuid } from '../../../operations/validation/values.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const ReadWhy = z.strictObject({
  at: Instant.optional().describe('An instant that has passed. Default: now.'),
})

const facts = z
  .object({
    runId: Uuid.describe('The run that it is about, or that is in the way.'),
    runState: z.string(),
    scheduledFor: Stored,
    since: Stored,
    until: Stored,
    nextAt: Stored.describe('When the task is due next.'),
    attempt: z.int(),
    workerId: Uuid,
    queue: z.string(),
    key: z.string(),
    limit: z.int(),
    held: z.int(),
    heldBy: z.array(Uuid).describe('Runs that held the places then, 100 at most.'),
    labels: z.array(z.string()),
    handler: z.string(),
    workers: z.int(),
    places: z.int(),
    ahead: z.int().describe('Runs that wait before this one, counted up to 1000.'),
    shard: z.int(),
    reason: z.string(),
    count: z.int(),
    name: z.string(),
  })
  .partial()
  .describe('What it is about; which of these are given depends on the code.')

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
    also: z.array(Cause).describe('What else keeps it from running, or would.'),
  })
  .meta({ id: 'WhyNotRunning' })
export type WhyNotRunning = z.output<typeof WhyNotRunning>
