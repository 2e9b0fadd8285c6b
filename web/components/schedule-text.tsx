import { describeSchedule } from '../../src/core/schedule/describe.ts'
import type { Schedule } from '../api/wire.ts'
import { zoneWord } from '../time/zone.ts'

/** A schedule in words; what was written is on hover. */
export function ScheduleText({ schedule }: { readonly schedule: Schedule }) {
  return <span title={source(schedule)}>{scheduleWords(schedule)}</span>
}

export function scheduleWords(schedule: Schedule): string {
  if (schedule.type === 'once') return 'Once'
  const text = describeSchedule(schedule)
  // The zone by its short name: `Europe/Berlin` is said in full on hover.
  return 'timezone' in schedule ? text.replace(/ \(\S+\)$/, ` · ${zoneWord(schedule.timezone)}`) : text
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
    case 'manual':
      return 'manual'
  }
}
