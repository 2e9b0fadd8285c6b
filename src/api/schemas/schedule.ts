import { z } from 'zod'
import {
  type Schedule as CoreSchedule,
  FOLD_POLICIES,
  GAP_POLICIES,
  validateSchedule,
} from '../../core/schedule/schedule.ts'
import { Instant, instantProblem } from './values.ts'

/** The fields are checked in detail by the core, which knows what an expression may hold. */
const Text = z.string()
const DaylightSaving = { gap: z.enum(GAP_POLICIES).optional(), fold: z.enum(FOLD_POLICIES).optional() }

const Shape = z.discriminatedUnion('type', [
  z
    .strictObject({ type: z.literal('once'), at: Text.meta({ format: 'date-time' }) })
    .describe('Once, at an instant.'),
  z
    .strictObject({
      type: z.literal('every'),
      interval: Text.meta({ example: '10s' }),
      anchor: Text.meta({ format: 'date-time' }).optional(),
    })
    .describe('At a fixed rate, on a grid through the anchor (default: startAt, else creation).'),
  z
    .strictObject({ type: z.literal('delay'), interval: Text.meta({ example: '10s' }) })
    .describe('Again this long after each run has ended.'),
  z
    .strictObject({
      type: z.literal('cron'),
      expression: Text.meta({ example: '30 9 * * MON-FRI' }),
      timezone: Text.default('UTC'),
      ...DaylightSaving,
    })
    .describe('Cron with five fields, or six with seconds first, on the wall clock of a zone.'),
  z
    .strictObject({
      type: z.literal('daily'),
      hour: z.int(),
      minute: z.int(),
      timezone: Text.default('UTC'),
      ...DaylightSaving,
    })
    .describe('Every day at a wall-clock time.'),
  z.strictObject({ type: z.literal('manual') }).describe('Only when triggered.'),
])

export const Schedule = Shape.superRefine((schedule, context) => {
  const verdict = validateSchedule(schedule as CoreSchedule)
  const problems = verdict.ok ? outOfRange(schedule) : verdict.problems
  for (const { pointer, detail } of problems)
    context.addIssue({ code: 'custom', path: [pointer.slice(1)], message: detail })
}).meta({ id: 'Schedule' })

/** Instants that can be read, but lie where no zone has rules. */
function outOfRange(schedule: z.output<typeof Shape>): { pointer: string; detail: string }[] {
  const check = (pointer: string, text: string | undefined) => {
    const detail = text === undefined ? null : instantProblem(text)
    return detail === null ? [] : [{ pointer, detail }]
  }
  if (schedule.type === 'once') return check('/at', schedule.at)
  return schedule.type === 'every' ? check('/anchor', schedule.anchor) : []
}

export const PreviewRequest = z
  .strictObject({
    schedule: Schedule,
    startAt: Instant.optional(),
    endAt: Instant.optional(),
    from: Instant.optional().describe('Where to begin; default now.'),
    count: z.int().min(1).max(100).default(10),
  })
  .meta({ id: 'PreviewRequest' })
export type PreviewRequest = z.output<typeof PreviewRequest>

export const Preview = z
  .object({
    description: z.string(),
    timezone: z.string().nullable(),
    occurrences: z.array(z.object({ at: z.string(), local: z.string().nullable() })),
    notes: z.array(
      z.object({
        at: z.string().nullable(),
        wall: z.string(),
        kind: z.enum(['gap', 'fold']),
        note: z.string(),
      }),
    ),
  })
  .meta({ id: 'Preview' })
export type Preview = z.output<typeof Preview>
