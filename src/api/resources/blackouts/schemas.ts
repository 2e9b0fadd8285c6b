import { z } from 'zod'
import { BLACKOUT_EFFECTS, WEEKDAYS } from '../../../core/policy/blackout-rule.ts'
import { validateSchedule } from '../../../core/schedule/validate-schedule.ts'
import { DAY_MS, MINUTE_MS } from '../../../core/values/time-units.ts'
import { durationBetween, Instant, isInOrder, Uuid } from '../../../operations/validation/values.ts'

const WallTime = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a wall-clock time from 00:00 to 23:59, such as 22:30')
  .meta({ example: '22:30' })

const Range = z
  .strictObject({ type: z.literal('range'), from: Instant, to: Instant })
  .refine(isInOrder, { path: ['to'], message: 'must be after from' })
  .describe('A single window between two timestamps.')

const Cron = z
  .strictObject({
    type: z.literal('cron'),
    expression: z.string().meta({ example: '0 22 * * FRI' }),
    timezone: z.string().default('UTC'),
    duration: durationBetween(MINUTE_MS, 31 * DAY_MS, 'from 1m to 31d'),
  })
  .superRefine(({ expression, timezone }, context) => report({ type: 'cron', expression, timezone }, context))
  .describe('A window of this length at each match of the expression.')

const Weekly = z
  .strictObject({
    type: z.literal('weekly'),
    days: z
      .array(z.enum(WEEKDAYS))
      .min(1)
      .max(7)
      .refine((days) => new Set(days).size === days.length, 'must name each day once'),
    from: WallTime,
    to: WallTime.describe('End time: on the same day if it is later than `from`, otherwise on the next day.'),
    timezone: z.string().default('UTC'),
  })
  .superRefine(({ timezone }, context) => report({ type: 'daily', hour: 0, minute: 0, timezone }, context))
  .refine(({ from, to }) => from !== to, { path: ['to'], message: 'must differ from from' })
  .describe('A weekly window between two wall-clock times, starting on these days of the week.')

function report(schedule: Parameters<typeof validateSchedule>[0], context: z.RefinementCtx): void {
  const check = validateSchedule(schedule)
  if (check.ok) return
  for (const { pointer, detail } of check.problems)
    context.addIssue({ code: 'custom', path: pointer.split('/').slice(1), message: detail })
}

const Rule = z.discriminatedUnion('type', [Range, Cron, Weekly]).meta({ id: 'BlackoutWindow' })

export const CreateBlackout = z
  .strictObject({
    name: z.string().min(1).max(200),
    window: Rule,
    effect: z
      .enum(BLACKOUT_EFFECTS)
      .optional()
      .describe(
        'skip (default): occurrences within the window are skipped. defer: the latest occurrence of each task runs when the window ends.',
      ),
  })
  .meta({ id: 'CreateBlackout' })
export type CreateBlackout = z.output<typeof CreateBlackout>

const Stored = z.string().meta({ format: 'date-time' })
const Span = z.object({ from: Stored, to: Stored })

export const Blackout = z
  .object({
    id: Uuid,
    name: z.string(),
    window: z.unknown().meta({ $ref: '#/components/schemas/BlackoutWindow' }),
    effect: z.enum(BLACKOUT_EFFECTS),
    isInForce: z.boolean(),
    current: Span.nullable().describe('The window that is in force now.'),
    next: Span.nullable().describe('The next window.'),
    createdAt: Stored,
  })
  .meta({ id: 'Blackout' })
export type Blackout = z.output<typeof Blackout>

export const BlackoutList = z.object({ items: z.array(Blackout) }).meta({ id: 'BlackoutList' })
