/** Converts between instants and the local date and time in date fields, which know no zones. */

import { clockFormat } from '../../src/core/schedule/clock-format.ts'
import { DAY_MS } from '../../src/core/values/time-units.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

function formatter(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = clockFormat(zone)
  formats.set(zone, made)
  return made
}

/** The UTC offset of a zone at an instant. */
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

/** The local date and time of an instant in a zone; an empty string if it is not an instant. */
export function localOf(at: string | null, zone: string): string {
  const ms = Date.parse(at ?? '')
  if (Number.isNaN(ms)) return ''
  return new Date(ms + offsetAt(ms, zone)).toISOString().slice(0, ms % 60_000 === 0 ? 16 : 23)
}

/**
 * The instant of a local date and time: the first of two if it is ambiguous, and the time without the change if it falls into a
 * gap. Text that is not a date is returned as it is, so that the API reports it.
 */
export function instantOf(local: string, zone: string): string {
  const wall = Date.parse(`${local}Z`)
  if (Number.isNaN(wall)) return local
  const [before, after] = [offsetAt(wall - DAY_MS, zone), offsetAt(wall + DAY_MS, zone)]
  const shown = [before, after].filter((offset) => offsetAt(wall - offset, zone) === offset)
  const at = wall - (shown.length === 0 ? before : Math.max(...shown))
  return Number.isNaN(at) ? local : new Date(at).toISOString()
}
