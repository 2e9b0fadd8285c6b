import { z } from 'zod'

const Stored = z.string().meta({ format: 'date-time' })

export const Queue = z
  .object({
    name: z.string(),
    isPaused: z.boolean(),
    pausedAt: Stored.nullable(),
    waiting: z.int().describe('Runs that wait for a worker, counted up to 10 000.'),
    oldest: Stored.nullable().describe('Since when the longest waiting one of those has been due.'),
    createdAt: Stored,
  })
  .meta({ id: 'Queue' })
export type Queue = z.output<typeof Queue>

export const QueueList = z.object({ items: z.array(Queue) }).meta({ id: 'QueueList' })
