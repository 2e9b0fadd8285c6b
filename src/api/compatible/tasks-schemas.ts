/** The shapes of the `/tasks` interface. */
import { z } from 'zod'
import { parseDuration } from '../../core/values/duration.ts'
import { Instant } from '../../operations/validation/values.ts'

const Duration = z.string().superRefine((text, context) => {
  const parsed = parseDuration(text)
  if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
})

export const ScheduleTaskRequest = z
  .strictObject({
    command: Duration.describe('How long to sleep, such as 5s.'),
    start_at: Instant.nullish().describe('Default now.'),
    recurring: Duration.nullish().describe('Time between the end of a run and the start of the next one.'),
  })
  .meta({ id: 'ScheduleTaskRequest' })
export type ScheduleTaskRequest = z.output<typeof ScheduleTaskRequest>

export const TaskResponse = z
  .object({
    id: z.string().meta({ format: 'uuid' }),
    status: z.enum(['SCHEDULED', 'PENDING', 'RUNNING', 'FINISHED']),
    start_at: z.string().meta({ format: 'date-time' }),
    recurring: z.string().describe('Empty for a task that runs once.'),
    command: z.string(),
  })
  .meta({ id: 'TaskResponse' })
export type TaskResponse = z.output<typeof TaskResponse>
