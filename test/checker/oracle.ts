/**
 * Determines what a task owes by stepping through time: grids are stepped along, wall clocks are watched tick by tick. It is
 * deliberately slow and simple, and shares no code with the product.
 */
import { observeClock, oracleFires } from './cron-oracle.ts'
import type { TaskBody } from './evidence.ts'

const MAX_STEPS = 2_000_000
const SECOND_MS = 1_000
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of texts such as 250ms, 5s or 1.5h. */
export function lengthMs(text: string): number {
  const [, amount, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? []
  const unitMs = UNIT_MS[unit]
  if (amount === undefined || unitMs === undefined)
    throw new Error(`the oracle does not know the duration ${text}; it knows 250ms, 5s, 1.5h`)
  return Number(amount) * unitMs
}

/** A task as it was created. */
export interface Created {
  readonly body: TaskBody
  readonly createdAt: number
}

/**
 * Returns the instants at which a task is due, up to `until`. Of a `delay` only the first instant is included; each further one
 * follows from the end of the run before, as `nextRowOf` computes it. Skipped occurrences do not count against `maxRuns`.
 */
export function dueInstants(
  { body, createdAt }: Created,
  until: number,
  wasSkipped: (at: number) => boolean = () => false,
): number[] {
  const { schedule, maxRuns = Number.POSITIVE_INFINITY } = body
  const startAt = body.startAt === undefined ? null : Date.parse(body.startAt)
  const endAt = body.endAt === undefined ? Number.POSITIVE_INFINITY : Date.parse(body.endAt)
  const last = Math.min(until, endAt)
  const all = (): number[] => {
    switch (schedule?.type) {
      case undefined:
        return [startAt ?? createdAt]
      case 'manual':
        return []
      case 'once':
        return [Date.parse(String(schedule['at']))]
      case 'delay':
        return [Math.max(startAt ?? createdAt, createdAt)]
      case 'every': {
        const origin = schedule['anchor'] === undefined ? (startAt ?? createdAt) : schedule['anchor']
        const stepMs = lengthMs(String(schedule['interval']))
        const first = typeof origin === 'number' ? origin : Date.parse(String(origin))
        // A grid may have begun long ago: its steps before the task was created are left out.
        const passed = Math.max(0, Math.floor((createdAt - first) / stepMs) - 1)
        return steps(first + passed * stepMs, stepMs, last)
      }
      case 'cron':
      case 'daily':
        return wallClock(schedule, Math.max(startAt ?? createdAt, createdAt), last)
      default:
        throw new Error(`the oracle does not know schedules of type ${schedule?.type}`)
    }
  }
  // Without a start time, the first step is after the creation; with one, a step exactly at that time counts.
  const isGrid = schedule !== undefined && ['every', 'cron', 'daily'].includes(schedule.type)
  const isOpen = (at: number) => (startAt === null ? at > createdAt : at >= Math.max(startAt, createdAt))
  const due: number[] = []
  let runs = 0
  for (const at of all().filter((at) => at <= last && (!isGrid || isOpen(at)))) {
    if (runs === maxRuns) break
    due.push(at)
    if (!wasSkipped(at)) runs++
  }
  return due
}

/** When the next run of a `delay` is due, given when one ended; null when there is none. */
export function nextRowOf({ body }: Created, endedAt: number, ordinal: number): number | null {
  const at = Math.floor(endedAt + lengthMs(String(body.schedule?.['interval'])))
  const isOver = (body.endAt !== undefined && at > Date.parse(body.endAt)) || ordinal >= (body.maxRuns ?? 1e9)
  return isOver ? null : at
}

function steps(origin: number, stepMs: number, last: number): number[] {
  if ((last - origin) / stepMs > MAX_STEPS) throw new Error(`${MAX_STEPS} steps do not reach ${last}`)
  const found: number[] = []
  for (let at = origin; at <= last; at += stepMs) found.push(at)
  return found
}

function wallClock(schedule: Readonly<Record<string, unknown>>, from: number, last: number): number[] {
  const { timezone, minute, hour, expression = `${minute} ${hour} * * *`, gap, fold } = schedule
  const first = Math.floor(from / SECOND_MS) * SECOND_MS
  if ((last - first) / SECOND_MS > MAX_STEPS) throw new Error(`${MAX_STEPS} ticks do not reach ${last}`)
  const clock = observeClock(String(timezone), first, last + 1, SECOND_MS)
  return oracleFires(clock, {
    expression: String(expression),
    gap: gap as 'next' | 'skip' | undefined,
    fold: fold as 'first' | 'last' | 'both' | undefined,
  })
}
