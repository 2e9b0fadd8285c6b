/** Instants as they are typed: as the API takes them, so long from now (`--until 2h`) or ago (`--since 5m`), or in words. */
import { nextDate } from '../../core/schedule/dates.ts'
import type { Schedule } from '../../core/schedule/schedule.ts'
import { parseWords } from '../../core/schedule/words/parse-words.ts'
import { parseDuration } from '../../core/values/duration.ts'
import { printable } from '../../core/values/printable.ts'
import { usage } from './flag-values.ts'
import type { Server } from './server.ts'

/** A time to come, as a flag gives it. */
interface TimeToCome {
  /** Of the flag, such as `--until`. */
  readonly flag: string
  readonly text: string
  /** Whose clock words mean that name no zone. */
  readonly timezone: string
}

/** What looks like an instant goes as it is: the server names the field and what would be right. */
const LIKE_AN_INSTANT = /^\d{4}-\d\d-\d\dT/i

/** So long from now, or what one can also say when something is to be due once: `tomorrow at 9:00`. */
export function instantFromNow({ flag, text, timezone }: TimeToCome, server: Pick<Server, 'now'>): string {
  const now = server.now()
  const parsed = parseDuration(text)
  if (parsed.ok) return new Date(now + parsed.ms).toISOString()
  const words = parseWords(text, { now, timezone })
  const at = words.ok ? onceOf(words.schedule) : null
  if (at !== null) return at
  if (LIKE_AN_INSTANT.test(text)) return text
  throw usage(
    `${flag} is '${printable(text)}'; it must be a time such as 'tomorrow at 9:00', 'next friday at 18:00' or 2027-01-01T09:00:00+01:00, or a duration such as 2h.`,
  )
}

/** The one instant that a schedule means; null if it means several. */
function onceOf(schedule: Schedule): string | null {
  if (schedule.type === 'once') return schedule.at
  if (schedule.type !== 'dates' || schedule.dates.length !== 1) return null
  const at = nextDate(schedule, Number.NEGATIVE_INFINITY)
  return at === null ? null : new Date(at).toISOString()
}

export function instantAgo(text: string, server: Server): string {
  const parsed = parseDuration(text)
  return parsed.ok ? new Date(server.now() - parsed.ms).toISOString() : text
}
