import { describeSchedule } from '../../src/core/schedule/describe.ts'
import { zoneWord } from '../../src/core/words/time.ts'
import type { Schedule } from '../api/wire.ts'

/** A schedule in words, with the original expression on hover. */
export function ScheduleText({ schedule }: { readonly schedule: Schedule }) {
  return <span title={source(schedule)}>{scheduleWords(schedule)}</span>
}

/** Describing an expression costs as much as drawing its row, and lists are redrawn with each scroll, so results are cached. */
const known = new Map<string, string>()
const MOST_KNOWN = 1_000

export function scheduleWords(schedule: Schedule): string {
  const key = JSON.stringify(schedule)
  const found = known.get(key)
  if (found !== undefined) return found
  if (known.size >= MOST_KNOWN) known.clear()
  const words = wordsFor(schedule)
  known.set(key, words)
  return words
}

function wordsFor(schedule: Schedule): string {
  if (schedule.type === 'once') return 'Once'
  const text = describeSchedule(schedule)
  // The short name of the zone, followed by the chosen behaviour at clock changes; hover shows it in full.
  return 'timezone' in schedule
    ? text.replace(/ \([^\s,]+(,[^)]*)?\)$/, ` · ${zoneWord(schedule.timezone)}$1`)
    : text
}

function source(schedule: Schedule): string {
  switch (schedule.type) {
    case 'cron':
      return `cron ${schedule.expression} · ${schedule.timezone}`
    case 'once':
      return `once ${schedule.at}`
    case 'daily':
      return `daily · ${schedule.timezone}`
    case 'every':
    case 'delay':
      return `${schedule.type} ${schedule.interval}`
    case 'dates':
      return `${schedule.dates.length} dates · ${schedule.timezone}`
    case 'manual':
      return 'manual'
    case 'several':
      return schedule.triggers.map(source).join('; ')
  }
}
