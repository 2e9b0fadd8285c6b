import { utc } from '../values/utc.ts'
import { zoneOf } from './zone.ts'

/** The local time of an instant in a zone, with its offset: `2026-11-16T09:00:00.000+01:00`. */
export function localTime(ms: number, timeZone: string): string {
  const offset = timeZone === 'UTC' ? 0 : zoneOf(timeZone).segmentAt(ms).offset
  return utc(ms + offset).slice(0, -1) + (offset === 0 ? '+00:00' : offsetText(offset))
}

/** `+01:00`; with seconds if there are any, as in offsets from before standard time. */
function offsetText(offset: number): string {
  const seconds = Math.abs(offset) / 1_000
  const parts = [Math.floor(seconds / 3_600), Math.floor(seconds / 60) % 60, seconds % 60]
  const text = parts.slice(0, parts[2] === 0 ? 2 : 3).map((part) => String(part).padStart(2, '0'))
  return (offset < 0 ? '-' : '+') + text.join(':')
}
