/** Schemas of common values: ids, instants, durations. */
import { z } from 'zod'
import { isUuid } from '../../core/ids.ts'
import { parseInstant } from '../../core/schedule/instant.ts'
import { EARLIEST_INSTANT, LATEST_INSTANT } from '../../core/schedule/zone.ts'
import { parseDuration } from '../../core/values/duration.ts'
import { parseRate } from '../../core/values/rate.ts'

export const Uuid = z
  .string()
  .refine(isUuid, 'must be a UUID such as 01900000-0000-7000-8000-000000000000')
  .meta({ format: 'uuid', example: '01900000-0000-7000-8000-000000000000' })

/** Returns what is wrong with an instant, or null. Time zones have rules only between these years. */
export function instantProblem(text: string): string | null {
  const parsed = parseInstant(text)
  if (!parsed.ok) return parsed.reason
  if (parsed.at >= EARLIEST_INSTANT && parsed.at < LATEST_INSTANT) return null
  return `must be between the years ${yearOf(EARLIEST_INSTANT)} and ${yearOf(LATEST_INSTANT)}`
}

const yearOf = (instant: number) => new Date(instant).getUTCFullYear()

export const Instant = z
  .string()
  .superRefine((text, context) => {
    const message = instantProblem(text)
    if (message !== null) context.addIssue({ code: 'custom', message })
  })
  .meta({ format: 'date-time', example: '2026-11-16T09:00:00Z' })

/** The bounds of a period, as requested: either may be missing, or not be an instant. */
interface Ends {
  readonly from?: unknown
  readonly to?: unknown
}

/** Returns whether `from` is before `to`. True if either is not an instant, which is reported at its own field. */
export function isInOrder({ from, to }: Ends): boolean {
  const [begin, end] = [parseInstant(String(from)), parseInstant(String(to))]
  return !begin.ok || !end.ok || begin.at < end.at
}

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

/** How often something may start. */
export const Rate = z
  .string()
  .superRefine((text, context) => {
    const parsed = parseRate(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.reason })
  })
  .meta({ example: '10/s', pattern: '^[1-9]\\d{0,6}/[smh]$' })

/** How many may start at once after an idle period. */
export const Burst = z.int().min(1).max(100_000)

/** For requests whose address says everything: no body, or an empty object. */
export const NoBody = z.strictObject({}).nullish()
