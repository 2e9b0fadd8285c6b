import { z } from 'zod'
import { MAX_WAITING_COUNTED } from '../../../core/values/counted.ts'
import { formatCount } from '../../../core/words/time.ts'
import { Burst, Rate } from '../../../operations/validation/values.ts'
import { editOf } from '../../http/schemas/edit.ts'
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
      .describe('Maximum number of runs in progress at once; null for no limit.'),
    running: z
      .int()
      .nullable()
      .describe('Runs in progress that count towards the limit; null without a limit.'),
    rate: z
      .string()
      .nullable()
      .describe('Maximum number of starts per second, minute or hour, over all workers; null for no limit.'),
    burst: z
      .int()
      .nullable()
      .describe('Maximum burst: how many runs may start at once after an idle period; null for the default.'),
    waiting: z
      .int()
      .describe(`Runs that are waiting for a worker, counted up to ${formatCount(MAX_WAITING_COUNTED)}.`),
    oldest: Stored.nullable().describe('Due time of the run that has been waiting longest.'),
    createdAt: Stored,
  })
  .meta({ id: 'Queue' })
export type Queue = z.output<typeof Queue>

export const EditQueue = editOf({
  concurrencyLimit: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .optional()
    .describe(
      'Maximum number of runs of this queue in progress at once, across all workers. Null removes the limit.',
    ),
  rate: Rate.nullable()
    .optional()
    .describe(
      'Maximum number of starts, such as `10/s`, `100/m` or `1000/h`, over all workers. Null removes it.',
    ),
  burst: Burst.nullable()
    .optional()
    .describe(
      'Maximum burst: how many runs may start at once after an idle period. Null: what the rate allows in 100 ms, at least 1.',
    ),
}).meta({ id: 'EditQueue' })

export const ReadQueues = z.strictObject({
  q: z.string().min(1).max(100).optional().describe('Part of the name, case-insensitive.'),
  limit: Limit,
  cursor: Cursor,
})

export const ReadWaiting = z.strictObject({ limit: Limit, cursor: Cursor })

export const QueueList = z
  .object({ items: z.array(Queue), nextCursor: z.string().nullable() })
  .meta({ id: 'QueueList' })
