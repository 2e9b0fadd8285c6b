/**
 * Notes about the effect of clock changes on a schedule: which of its wall times are skipped or repeated, and when it is due
 * instead. They are shown with a preview, so that users learn of it in advance.
 */
import { instantsOfWall, parseDate } from './dates.ts'
import { occurrencesBetween } from './occurrences.ts'
import {
  type DatesSchedule,
  type Plan,
  type Trigger,
  triggersOf,
  type WallClockSchedule,
} from './schedule.ts'
import { type WallRule, wallRuleOf } from './wall-rule.ts'
import { type ClockChange, MAX_OFFSET_MS, zoneOf } from './zone.ts'

/** Maximum range to search: plans rarely extend further, and each year costs a lookup of its clock changes. */
const MAX_RANGE_MS = 10 * 366 * 86_400_000

/** What a clock change does to one wall time of a schedule. */
export interface DstNote {
  /** When it fires; null if the skipped wall time does not fire. */
  readonly instant: number | null
  /** The wall time of the schedule, such as 2027-03-28T02:30. */
  readonly wall: string
  readonly kind: 'gap' | 'fold'
  readonly note: string
}

/** Notes on fires in [from, to] that clock changes touch, in order, at most `limit`. */
export function dstNotes(plan: Plan, from: number, to: number, limit: number): DstNote[] {
  const first = Math.max(from, plan.startAt ?? from)
  const last = Math.min(to, plan.endAt ?? to, first + MAX_RANGE_MS)
  const notes = triggersOf(plan.schedule).flatMap((trigger) => notesOn(plan, trigger, { first, last, limit }))
  return notes.sort((a, b) => a.wall.localeCompare(b.wall)).slice(0, limit)
}

interface NoteRange {
  readonly first: number
  readonly last: number
  readonly limit: number
}

function notesOn(plan: Plan, trigger: Trigger, range: NoteRange): DstNote[] {
  switch (trigger.type) {
    case 'once':
    case 'every':
      return []
    case 'dates':
      return dateNotes(trigger, range)
    case 'cron':
    case 'daily':
      return wallClockNotes({ ...plan, schedule: trigger }, trigger, range)
  }
}

function wallClockNotes(
  plan: Plan,
  schedule: WallClockSchedule,
  { first, last, limit }: NoteRange,
): DstNote[] {
  const rule = wallRuleOf(schedule, plan.seed)
  const notes: DstNote[] = []
  // A change just outside the range still repeats wall times inside it.
  const reach = 86_400_000
  for (const change of rule.zone.clockChanges(first - reach, last + reach)) {
    if (notes.length >= limit) break
    if (change.after > change.before) {
      if (change.at >= first && change.at <= last) notes.push(...gapNotes(rule, schedule, change))
    } else {
      notes.push(...foldNotes({ plan, rule, schedule, change, first, last, limit: limit - notes.length }))
    }
  }
  return notes
}

/** Notes on the wall times of a list that clock changes skip or repeat. */
function dateNotes(schedule: DatesSchedule, { first, last, limit }: NoteRange): DstNote[] {
  const { timezone } = schedule
  const zone = zoneOf(timezone)
  const notes: DstNote[] = []
  for (const text of new Set(schedule.dates)) {
    const date = parseDate(text)
    if (date.kind !== 'wall' || notes.length >= limit) continue
    const { wall } = date
    if (wall < first - MAX_OFFSET_MS || wall > last + MAX_OFFSET_MS) continue
    const shown = zone.instantsShowing(wall).length
    if (shown === 1) continue
    const [instant = null, second] = instantsOfWall(wall, schedule)
    if (instant !== null && (instant < first || instant > last)) continue
    const said = `${timeOf(wall)} ${shown === 0 ? 'does not exist' : 'occurs twice'} on ${dateOf(wall)} in ${timezone}`
    const effect =
      shown === 0
        ? instant === null
          ? 'does not fire'
          : 'fires right after the gap instead'
        : second === undefined
          ? `fires only the ${schedule.fold === 'last' ? 'second' : 'first'} time`
          : 'fires both times'
    notes.push({
      instant,
      wall: wallText(wall),
      kind: shown === 0 ? 'gap' : 'fold',
      note: `${said}; ${effect}`,
    })
  }
  return notes
}

/** One note for all wall times in a gap, because they share one fire or have none. */
function gapNotes(rule: WallRule, schedule: WallClockSchedule, change: ClockChange): DstNote[] {
  const wall = rule.firstWallWithin(change.at + change.before, change.at + change.after)
  if (wall === null) return []
  const after = change.at + change.after
  const resumes = dateOf(after) === dateOf(wall) ? timeOf(after) : `${dateOf(after)} ${timeOf(after)}`
  const fires = rule.gap === 'next'
  const effect = fires ? `fires at ${resumes} instead` : 'does not fire'
  const note = `${timeOf(wall)} does not exist on ${dateOf(wall)}, ${clocksGo(schedule, change)}; ${effect}`
  return [{ instant: fires ? change.at : null, wall: wallText(wall), kind: 'gap', note }]
}

interface FoldRequest {
  readonly plan: Plan
  readonly rule: WallRule
  readonly schedule: WallClockSchedule
  readonly change: ClockChange
  readonly first: number
  readonly last: number
  readonly limit: number
}

function foldNotes({ plan, rule, schedule, change, first, last, limit }: FoldRequest): DstNote[] {
  const width = change.before - change.after
  const after = Math.max(change.at - width, first) - 1
  const upTo = Math.min(change.at + width - 1, last)
  return Array.from(occurrencesBetween(plan, after, upTo, limit), (instant) => {
    const isFirst = instant < change.at
    const wall = instant + (isFirst ? change.before : change.after)
    const which = `the ${isFirst ? 'first' : 'second'} time`
    const effect = rule.fold === 'both' ? `fires both times, this is ${which}` : `fires only ${which}`
    const note = `${timeOf(wall)} occurs twice on ${dateOf(wall)}, ${clocksGo(schedule, change)}; ${effect}`
    return { instant, wall: wallText(wall), kind: 'fold', note } as const
  })
}

/** "clocks in Europe/Berlin go from 02:00 to 03:00"; with dates if the two times are on different days. */
function clocksGo({ timezone }: WallClockSchedule, { at, before, after }: ClockChange): string {
  const [from, to] = [at + before, at + after]
  const sameDay = dateOf(from) === dateOf(to)
  const text = (wall: number): string => (sameDay ? timeOf(wall) : `${dateOf(wall)} ${timeOf(wall)}`)
  return `clocks in ${timezone} go from ${text(from)} to ${text(to)}`
}

const isoOf = (wall: number): string => new Date(wall).toISOString()
const dateOf = (wall: number): string => isoOf(wall).slice(0, 10)
const timeOf = (wall: number): string => isoOf(wall).slice(11, wall % 60_000 === 0 ? 16 : 19)
const wallText = (wall: number): string => `${dateOf(wall)}T${timeOf(wall)}`
