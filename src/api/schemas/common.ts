/** Pieces that every schema shares. */
import { z } from 'zod'
import { parseDuration } from '../../core/duration.ts'
import { isUuid } from '../../core/ids.ts'
import { parseInstant } from '../../core/schedule/instant.ts'

export const Uuid = z
  .string()
  .refine(isUuid, 'must be a UUID such as 01900000-0000-7000-8000-000000000000')
  .meta({ format: 'uuid', example: '01900000-0000-7000-8000-000000000000' })

export const Instant = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseInstant(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ format: 'date-time', example: '2026-11-16T09:00:00Z' })

export function durationBetween(minMs: number, maxMs: number, range: string) {
  return z
    .string()
    .superRefine((text, context) => {
      const parsed = parseDuration(text)
      if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
      else if (parsed.ms < minMs || parsed.ms > maxMs) {
        context.addIssue({ code: 'custom', message: `must be ${range}` })
      }
    })
    .meta({ example: '30s', description: `A duration such as 10ms, 30s, 5m, 1h30m or 2d; ${range}.` })
}

/** A page of a list. */
export const Limit = z.coerce
  .number({ error: 'must be a whole number from 1 to 200' })
  .int('must be a whole number from 1 to 200')
  .min(1, 'must be from 1 to 200')
  .max(200, 'must be from 1 to 200')
  .default(50)

export const Cursor = z.string().max(400).optional().describe('`nextCursor` of the page before.')

/** What every answer that is not a success looks like (RFC 9457). */
export const ProblemDocument = z
  .object({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    detail: z.string(),
    code: z.string().describe('Stable; see the list of error codes in the documentation.'),
    instance: z.string(),
    requestId: z.string(),
    errors: z.array(z.object({ pointer: z.string(), detail: z.string() })).optional(),
  })
  .catchall(z.unknown())
  .meta({ id: 'Problem' })
