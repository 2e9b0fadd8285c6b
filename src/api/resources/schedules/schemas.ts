import { z } from 'zod'
import { MAX_DATES } from '../../../core/schedule/dates.ts'
import { FOLD_POLICIES, GAP_POLICIES } from '../../../core/schedule/daylight-saving.ts'
import type { Schedule as CoreSchedule, Trigger } from '../../../core/schedule/schedule.ts'
import { MAX_TRIGGERS, validateSchedule } from '../../../core/schedule/validate-schedule.ts'
import { parseWords } from '../../../core/schedule/words/parse-words.ts'
import { zoneProblem } from '../../../core/schedule/zone.ts'
import type { GivenSchedule } from '../../../core/task/field-kinds.ts'
import { durationBetween, Instant, instantProblem } from '../../../operations/validation/values.ts'

/** The core validates the fields in detail, because it knows the syntax of expressions. */
const Text = z.string()
const DaylightSaving = { gap: z.enum(GAP_POLICIES).optional(), fold: z.enum(FOLD_POLICIES).optional() }

const Once = z
  .strictObject({ type: z.literal('once'), at: Text.meta({ format: 'date-time' }) })
  .describe('Once, at a timestamp.')
const Every = z
  .strictObject({
    type: z.literal('every'),
    interval: Text.meta({ example: '10s' }),
    anchor: Text.meta({ format: 'date-time' }).optional(),
  })
  .describe('At a fixed rate, aligned to the anchor (default: startAt, else the creation time).')
const Delay = z
  .strictObject({ type: z.literal('delay'), interval: Text.meta({ example: '10s' }) })
  .describe('This long after the end of each run.')
const Cron = z
  .strictObject({
    type: z.literal('cron'),
    expression: Text.meta({ example: '30 9 * * MON-FRI' }),
    timezone: Text.default('UTC'),
    ...DaylightSaving,
  })
  .describe(
    'A cron expression with five fields, or six with seconds first, on the wall clock of a time zone.',
  )
const Daily = z
  .strictObject({
    type: z.literal('daily'),
    hour: z.int(),
    minute: z.int(),
    timezone: Text.default('UTC'),
    ...DaylightSaving,
  })
  .describe('Every day at a wall-clock time of a time zone.')
const Dates = z
  .strictObject({
    type: z.literal('dates'),
    dates: z
      .array(Text.meta({ example: '2027-12-24T18:00' }))
      .min(1)
      .max(MAX_DATES),
    timezone: Text.default('UTC'),
    ...DaylightSaving,
  })
  .describe('At each of these dates: wall-clock times of the time zone, or timestamps with an offset.')
const Manual = z.strictObject({ type: z.literal('manual') }).describe('Only when triggered.')

/** Parsed here only to reject invalid words; the operation parses them again, with its own current time. */
const InWords = z
  .strictObject({
    type: z.literal('words'),
    words: Text.meta({ example: 'every weekday at 9:00' }),
    timezone: Text.default('UTC'),
  })
  .describe(
    'A schedule in words, and the time zone of wall-clock times without one. Stored as the schedule that the words describe.',
  )

const KINDS = [Once, Every, Delay, Cron, Daily, Dates, Manual] as const
/** Accepts types that cannot be combined, so that the core can explain why they cannot. */
const Triggers = z.array(z.discriminatedUnion('type', KINDS)).min(1).max(MAX_TRIGGERS)
const Several = z
  .strictObject({ type: z.literal('several'), triggers: Triggers })
  .describe('Due whenever one of the triggers is due. Two triggers at the same time fire once.')

const Whole = z
  .discriminatedUnion('type', [...KINDS, Several, InWords])
  .superRefine((schedule, context) =>
    schedule.type === 'words'
      ? reportWords(schedule, context)
      : report(schedule as CoreSchedule, [], context),
  )

const List = Triggers.superRefine((triggers, context) =>
  report({ type: 'several', triggers: triggers as Trigger[] }, ['triggers'], context),
).describe('A list of triggers; the same as an object of type several.')

const Words = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseWords(text, { now: 0 })
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: 'every weekday at 9:00 (Europe/Vienna)' })
  .describe('A schedule in words. Stored as the schedule that the words describe.')

/** An object of some type, a list of triggers, or words; responses always have an object. */
export const Schedule = z.union([Whole, List, Words]).meta({ id: 'Schedule' }) as unknown as z.ZodType<
  GivenSchedule,
  GivenSchedule
>
export type Schedule = z.output<typeof Schedule>

function reportWords({ words, timezone }: z.output<typeof InWords>, context: z.RefinementCtx): void {
  const zone = zoneProblem(timezone)
  if (zone !== null) {
    context.addIssue({ code: 'custom', path: ['timezone'], message: zone })
    return
  }
  const parsed = parseWords(words, { now: 0, timezone })
  if (!parsed.ok) context.addIssue({ code: 'custom', path: ['words'], message: parsed.reason })
}

/** Reports the problems that the core finds, each at its field. `within` is the prefix that a list removes from the pointers. */
function report(schedule: CoreSchedule, within: readonly string[], context: z.RefinementCtx): void {
  const check = validateSchedule(schedule)
  const problems = check.ok ? outOfRange(schedule) : check.problems
  for (const { pointer, detail } of problems) {
    const path = pointer
      .split('/')
      .slice(1 + within.length)
      .map((name) => (/^\d+$/.test(name) ? Number(name) : name))
    context.addIssue({ code: 'custom', path, message: detail })
  }
}

/** Returns problems about instants that are valid, but outside the years for which zones have rules. */
function outOfRange(schedule: CoreSchedule): { pointer: string; detail: string }[] {
  const check = (pointer: string, text: string | undefined) => {
    const detail = text === undefined ? null : instantProblem(text)
    return detail === null ? [] : [{ pointer, detail }]
  }
  switch (schedule.type) {
    case 'once':
      return check('/at', schedule.at)
    case 'every':
      return check('/anchor', schedule.anchor)
    case 'dates':
      return schedule.dates.flatMap((text, i) =>
        check(`/dates/${i}`, /T[\d:]+$/.test(text) ? `${text.padEnd(19, ':00')}Z` : text),
      )
    case 'several':
      return schedule.triggers.flatMap((trigger, i) =>
        outOfRange(trigger).map(({ pointer, detail }) => ({ pointer: `/triggers/${i}${pointer}`, detail })),
      )
    default:
      return []
  }
}

export const PreviewRequest = z
  .strictObject({
    schedule: Schedule,
    startAt: Instant.optional(),
    endAt: Instant.optional(),
    from: Instant.optional().describe('List occurrences after this time (exclusive). Default now.'),
    count: z.int().min(1).max(100).default(10),
    seed: z
      .string()
      .min(1)
      .max(200)
      .optional()
      .describe('Seed of H and jitter: the key of the task, or its `seed`.'),
    jitter: durationBetween(0, 86_400_000, 'from 0s to 1d').optional(),
  })
  .meta({ id: 'PreviewRequest' })
export type PreviewRequest = z.output<typeof PreviewRequest>

export const Preview = z
  .object({
    schedule: z.unknown().meta({ $ref: '#/components/schemas/Schedule' }),
    description: z.string(),
    timezone: z.string().nullable(),
    occurrences: z.array(
      z.object({
        at: z.string(),
        local: z.string().nullable(),
        firesAt: z.string().optional().describe('With `jitter`: the start time.'),
      }),
    ),
    notes: z.array(
      z.object({
        at: z.string().nullable(),
        wall: z.string().nullable(),
        kind: z.enum(['gap', 'fold', 'zone']),
        note: z.string(),
      }),
    ),
  })
  .meta({ id: 'Preview' })
export type Preview = z.output<typeof Preview>
