/** Schedules in words, for people to check that what they wrote is what they meant. */
import { parseDuration } from '../duration.ts'
import { describeCron } from './describe-cron.ts'
import type { DatesSchedule, Schedule } from './schedule.ts'

/** An English sentence, without a full stop, for a schedule that has passed `validateSchedule`. */
export function describeSchedule(schedule: Schedule): string {
  switch (schedule.type) {
    case 'once':
      return `Once, at ${schedule.at}`
    case 'every': {
      const every = `Every ${durationInWords(schedule.interval).replace(/^1 (\w+)$/, '$1')}`
      return schedule.anchor === undefined ? every : `${every}, counted from ${schedule.anchor}`
    }
    case 'delay':
      return `${durationInWords(schedule.interval)} after the previous run has ended`
    case 'cron':
      return `${describeCron(schedule.expression)} (${schedule.timezone})`
    case 'daily':
      return `Every day at ${twoDigits(schedule.hour)}:${twoDigits(schedule.minute)} (${schedule.timezone})`
    case 'dates':
      return describeDates(schedule)
    case 'manual':
      return 'Only when triggered'
    case 'several':
      return schedule.triggers.map(describeSchedule).join('; ')
  }
}

/** More dates than this are counted rather than named. */
const MAX_NAMED_DATES = 5

function describeDates({ dates, timezone }: DatesSchedule): string {
  const named = dates.slice(0, MAX_NAMED_DATES).map((date) => date.replace(/^(\S{10})T([\d:]+)$/, '$1 at $2'))
  const more = dates.length - named.length
  return `On ${named.join(', ')}${more > 0 ? ` and ${more} more` : ''} (${timezone})`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

const UNIT_WORDS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

/** `1m30s` as "1 minute 30 seconds". */
function durationInWords(text: string): string {
  const parsed = parseDuration(text)
  if (!parsed.ok) return text
  let rest = parsed.ms
  const words: string[] = []
  for (const [unit, unitMs] of UNIT_WORDS) {
    const count = Math.floor(rest / unitMs)
    if (count > 0) words.push(`${count} ${unit}${count === 1 ? '' : 's'}`)
    rest -= count * unitMs
  }
  return words.length === 0 ? 'no time' : words.join(' ')
}
