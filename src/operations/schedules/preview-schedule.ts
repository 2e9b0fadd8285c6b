import { describeSchedule } from '../../core/schedule/describe.ts'
import { dstNotes } from '../../core/schedule/dst-notes.ts'
import { localTime } from '../../core/schedule/local-time.ts'
import { dueAt, firstOccurrence, nextOccurrence } from '../../core/schedule/occurrences.ts'
import { type Plan, type Schedule, timezoneOf, triggersOf } from '../../core/schedule/schedule.ts'
import { zoneNote } from '../../core/schedule/zone-names.ts'
import { durationMs, instantMs } from '../../core/task/task.ts'
import { utc } from '../../core/values/utc.ts'
import { mapInTurns } from '../../runtime/turns.ts'
import { givenSchedule } from '../tasks/define-task.ts'

/** Notes are searched for this far ahead, even if the listed instants end sooner. */
const NOTES_AHEAD_MS = 366 * 86_400_000
const MAX_NOTES = 10

/** A schedule to preview; instants are RFC 3339, durations are text. */
export interface PreviewInput {
  readonly schedule: Parameters<typeof givenSchedule>[0]
  readonly startAt?: string | undefined
  readonly endAt?: string | undefined
  /** Occurrences after this instant; default now. */
  readonly from?: string | undefined
  readonly count: number
  readonly seed?: string | undefined
  readonly jitter?: string | undefined
}

/** A note about an instant: a zone abbreviation, or an effect of daylight saving time. */
interface Note {
  readonly at: string | null
  readonly wall: string | null
  readonly kind: 'gap' | 'fold' | 'zone'
  readonly note: string
}

/** Returns the next instants of a schedule, a sentence that describes it, and the effects of daylight saving time. */
export async function previewSchedule(request: PreviewInput, now: number) {
  const schedule = givenSchedule(request.schedule, now) as Schedule
  const from = request.from === undefined ? now : instantMs(request.from)
  const startAt = request.startAt === undefined ? null : instantMs(request.startAt)
  const endAt = request.endAt === undefined ? null : instantMs(request.endAt)
  const jitterMs = request.jitter === undefined ? 0 : durationMs(request.jitter)
  const plan: Plan = {
    schedule,
    startAt,
    endAt,
    anchorAt: startAt ?? from,
    seed: request.seed ?? null,
    jitterMs,
  }
  const timezone = timezoneOf(schedule)
  return {
    schedule,
    description: describeSchedule(schedule, request.seed ?? null),
    timezone,
    occurrences: await mapInTurns(upcoming(plan, from, request.count), (at) => ({
      at: utc(at),
      local: timezone === null ? null : localTime(at, timezone),
      ...(jitterMs === 0 ? {} : { firesAt: utc(dueAt(plan, at)) }),
    })),
    notes: [...zoneNotes(schedule), ...clockNotes(plan, from)],
  }
}

/** Returns notes about abbreviations that were interpreted as time zones. */
function zoneNotes(schedule: Schedule): Note[] {
  const zones = triggersOf(schedule).flatMap((trigger) => ('timezone' in trigger ? [trigger.timezone] : []))
  return [...new Set(zones)].flatMap((zone) => {
    const note = zoneNote(zone)
    return note === null ? [] : [{ at: null, wall: null, kind: 'zone' as const, note }]
  })
}

const clockNotes = (plan: Plan, from: number): Note[] =>
  dstNotes(plan, from, from + NOTES_AHEAD_MS, MAX_NOTES).map(({ instant, wall, kind, note }) => ({
    at: instant === null ? null : utc(instant),
    wall,
    kind,
    note,
  }))

function* upcoming(plan: Plan, from: number, count: number): Generator<number, void, undefined> {
  const isRelative = plan.schedule.type === 'once' || plan.schedule.type === 'delay'
  let at = isRelative ? firstOccurrence(plan, from) : nextOccurrence(plan, from)
  for (let found = 0; at !== null && found < count; found += 1) {
    yield at
    at = nextOccurrence(plan, at)
  }
}
