/** Instants in date fields, which show the clock of a place and know nothing of zones. */
import { clockFormat } from '../../src/core/schedule/clock-format.ts'

const DAY_MS = 86_400_000

const formats = new Map<string, Intl.DateTimeFormat>()

function formatter(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = clockFormat(zone)
  formats.set(zone, made)
  return made
}

/** How far the clocks of a zone are ahead of UTC at an instant. */
function offsetAt(at: number, zone: string): number {
  const parts = formatter(zone).formatToParts(at)
  const {
    year = '',
    month,
    day,
    hour,
    minute,
    second,
  } = Object.fromEntries(parts.map(({ type, value }) => [type, value])) as Record<string, string>
  const wall = Date.parse(`${year.padStart(4, '0')}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return wall - Math.floor(at / 1_000) * 1_000
}

/** An instant as a date field shows it on the clock of a zone; nothing for what is no instant. */
export function localOf(at: string | null, zone: string): string {
  const ms = Date.parse(at ?? '')
  if (Number.isNaN(ms)) return ''
  return new Date(ms + offsetAt(ms, zone)).toISOString().slice(0, ms % 60_000 === 0 ? 16 : 23)
}

/**
 * What that date field stands for: the first of two instants that look the same, and after a gap what the clocks would
 * have shown without it. Text that is no date goes as it is, so that the API says so.
 */
export function instantOf(local: string, zone: string): string {
  const wall = Date.parse(`${local}Z`)
  if (Number.isNaN(wall)) return local
  const [before, after] = [offsetAt(wall - DAY_MS, zone), offsetAt(wall + DAY_MS, zone)]
  const shown = [before, after].filter((offset) => offsetAt(wall - offset, zone) === offset)
  const at = wall - (shown.length === 0 ? before : Math.max(...shown))
  return Number.isNaN(at) ? local : new Date(at).toISOString()
}
