import { z } from 'zod'
import { LOG_LEVELS, LOG_STREAMS } from '../../../core/run/log-entry.ts'
import type { RunState } from '../../../core/run/run.ts'
import { Instant } from '../../../operations/validation/values.ts'

const RANGE = { minimum: 1, maximum: 1_000, default: 200 }
const limitRule = `must be a whole number from ${RANGE.minimum} to ${RANGE.maximum}`
const MAX_ATTEMPT = 32_767
const attemptRule = `must be a whole number from 1 to ${MAX_ATTEMPT}`
const MAX_SEARCH_CHARACTERS = 200

const number = (rule: string, { minimum, maximum }: { minimum: number; maximum: number }) =>
  z
    .string(rule)
    .regex(/^\d{1,5}$/, rule)
    .transform(Number)
    .refine((value) => value >= minimum && value <= maximum, rule)

export const ReadLog = z.strictObject({
  project: z
    .string()
    .max(100)
    .optional()
    .describe('Project of the run, instead of the header `belfry-project`, which browsers cannot send.'),
  attempt: number(attemptRule, { minimum: 1, maximum: MAX_ATTEMPT }).optional().meta({
    type: 'integer',
    minimum: 1,
    maximum: MAX_ATTEMPT,
    description: 'Only lines of this attempt. Default: all attempts, in order.',
  }),
  after: z.string().min(1).max(40).optional().describe('Only lines after the line with this `id`.'),
  since: Instant.optional().describe('Only lines written at or after this time.'),
  q: z
    .string()
    .min(1)
    .max(MAX_SEARCH_CHARACTERS)
    .optional()
    .describe('Only lines that contain this text, ignoring case.'),
  limit: number(limitRule, RANGE)
    .default(RANGE.default)
    .meta({
      type: 'integer',
      ...RANGE,
      description: `Maximum number of lines in a JSON page. Default ${RANGE.default}.`,
    }),
  format: z
    .enum(['json', 'text'])
    .optional()
    .describe('Format of the response, instead of the header `accept`.'),
  timestamps: z
    .enum(['true', 'false'])
    .optional()
    .describe('As text: whether each line starts with its time. Default false.'),
})
export type ReadLog = z.output<typeof ReadLog>

export const LogLine = z
  .object({
    id: z.string().describe('Position of the line. Pass it as `after` to continue after the line.'),
    attempt: z.int().describe('Number of the attempt that wrote the line.'),
    at: z.string().meta({ format: 'date-time' }),
    stream: z.enum(LOG_STREAMS).describe('`log` contains the lines of a handler, and notes of Belfry.'),
    level: z.enum(LOG_LEVELS).nullable().describe('Null for output of a program.'),
    text: z.string(),
    isPartial: z
      .boolean()
      .describe(
        'The line continues in the next item of the same stream: it was written in parts, or is very long.',
      ),
    omitted: z
      .object({ lines: z.int(), bytes: z.int() })
      .nullable()
      .describe('Set on the last line of an attempt that exceeded the limit: how much was omitted so far.'),
  })
  .meta({ id: 'LogLine' })
export type LogLine = z.output<typeof LogLine>

export const LogPage = z
  .object({
    items: z.array(LogLine),
    nextCursor: z
      .string()
      .nullable()
      .describe('Pass it as `after` to read the next page. Null if there are no more lines now.'),
  })
  .meta({ id: 'LogPage' })

/** The data of the event `end`, the last on a stream. */
export interface LogEnd {
  /** ended: the run has ended. behind: the client did not read. stopping: the node stops. unavailable: the database does not answer. */
  readonly reason: 'ended' | 'behind' | 'stopping' | 'unavailable'
  /** The final state of the run. */
  readonly state?: RunState
}
