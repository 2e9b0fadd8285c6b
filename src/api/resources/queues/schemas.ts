import { z } from 'zod'
import { Cursor, Limit } from '../../http/schemas/page.ts'

const Stored = z.string().meta({ format: 'date-time' })

export const Queue = z
  .object({
    name: z.string(),
    isPaused: z.boolean(),
    pausedAt: Stored.nullable(),
    concurrencyLimit: z
      .int()
      .nullable()
      .describe('How many of its runs may be in progress at once; null for any number.'),
    running: z
      .int()
      .nullable()
      .describe('Runs in progress that count against the limit; null without a limit.'),
    waiting: z.int().describe('Runs that wait for a worker, counted up to 10 000.'),
    oldest: Stored.nullable().describe('Since when the longest waiting one of those has been due.'),
    createdAt: Stored,
  })
  .meta({ id: 'Queue' })
export type Queue = z.output<typeof Queue>

export const EditQueue = z
  .strictObject({
    concurrencyLimit: z
      .int()
      .min(1)
      .max(100_000)
      .nullable()
      .optional()
      .describe(
        'How many runs of this queue may be in progress at once, over all workers. null lifts the limit.',
      ),
  })
  .refine((edit) => Object.keys(edit).length > 0, 'must name at least one field to change')
  .meta({ id: 'EditQueue' })

export const ReadQueues = z.strictObject({
  q: z.string().min(1).max(100).optional().describe('Part of the name, whatever its case.'),
  limit: Limit,
  cursor: Cursor,
})

export const QueueList = z
  .object({ items: z.array(Queue), nextCursor: z.string().nullable() })
  .meta({ id: 'QueueList' })
