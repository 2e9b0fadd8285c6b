/** Describes the windows of blackouts. */
import { describeSchedule } from '../../../src/core/schedule/describe.ts'
import { zoneWord } from '../../../src/core/words/time.ts'
import type { Blackout } from '../../api/wire.ts'

type Window = Blackout['window']

/** The time zone of a window; null for a window between two instants. */
export const zoneOf = (window: Window): string | null =>
  window.type === 'range' ? null : (window.timezone ?? 'UTC')

export function windowWords(window: Window): string {
  switch (window.type) {
    case 'range':
      return 'Once'
    case 'weekly':
      return `${window.days.map(dayWord).join(', ')} from ${window.from} to ${window.to} · ${zoneWord(window.timezone ?? 'UTC')}`
    case 'cron':
      return `${cronWords(window.expression, window.timezone ?? 'UTC')}, for ${window.duration}`
  }
}

function cronWords(expression: string, timezone: string): string {
  const words = describeSchedule({ type: 'cron', expression, timezone })
  return words.replace(/ \(\S+\)$/, ` · ${zoneWord(timezone)}`)
}

const dayWord = (day: string): string => day.slice(0, 1).toUpperCase() + day.slice(1, 3).toLowerCase()
