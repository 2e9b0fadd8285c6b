/**
 * Schedules in words, so that people can check that a schedule is what they meant. The words of words/parse-words.ts are used
 * where they suffice; a sentence that the parser accepts has the meaning of the schedule that it describes.
 */
import { parseDuration } from '../values/duration.ts'
import type { DaylightSavingChoice } from './daylight-saving.ts'
import { describeCron } from './describe-cron.ts'
import type { DatesSchedule, Schedule } from './schedule.ts'
import { listed, MAX_DATES_IN_WORDS, UNIT_WORDS } from './words/vocabulary.ts'

/** Describes a valid schedule as an English sentence without a full stop. With a seed, it includes the values of `H`. */
export function describeSchedule(schedule: Schedule, seed: string | null = null): string {
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
      return `${describeCron(schedule.expression, seed)} ${placeOf(schedule)}`
    case 'daily':
      return `Every day at ${twoDigits(schedule.hour)}:${twoDigits(schedule.minute)} ${placeOf(schedule)}`
    case 'dates':
      return describeDates(schedule)
    case 'manual':
      return 'Only when triggered'
    case 'several':
      return schedule.triggers
        .map((trigger) => describeSchedule(trigger, seed))
        .map((text, index) => (index === 0 ? text : text.charAt(0).toLowerCase() + text.slice(1)))
        .join('; ')
  }
}

/** The zone, and the choices about clock changes. */
function placeOf({ timezone, gap, fold }: DaylightSavingChoice & { readonly timezone: string }): string {
  return `(${timezone}${gap === undefined ? '' : `, gap ${gap}`}${fold === undefined ? '' : `, fold ${fold}`})`
}

function describeDates(schedule: DatesSchedule): string {
  const { dates } = schedule
  const named = dates
    .slice(0, MAX_DATES_IN_WORDS)
    .map((date) => date.replace(/^(\S{10})T(\d\d:\d\d)(?::00)?(:\d\d)?$/, '$1 at $2$3'))
  const more = dates.length - named.length
  return `On ${more > 0 ? `${named.join(', ')} and ${more} more` : listed(named)} ${placeOf(schedule)}`
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

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
