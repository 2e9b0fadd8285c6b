/** Instants and durations for people to read. An instant is always written with its zone. */
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../values/time-units.ts'

const formats = new Map<string, Intl.DateTimeFormat>()

function formatter(zone: string): Intl.DateTimeFormat {
  const known = formats.get(zone)
  if (known) return known
  const made = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    weekday: 'short',
    day: 'numeric',
    month: 'short',
    year: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    fractionalSecondDigits: 3,
    hourCycle: 'h23',
  })
  formats.set(zone, made)
  return made
}

type Part = 'weekday' | 'day' | 'month' | 'year' | 'hour' | 'minute' | 'second' | 'fractionalSecond'

function partsOf(at: number, zone: string): Record<Part, string> {
  const parts = formatter(zone).formatToParts(at)
  return Object.fromEntries(parts.map(({ type, value }) => [type, value])) as Record<Part, string>
}

/** How an instant is written. */
export interface InstantStyle {
  /** The current instant, which decides whether the year is shown. */
  readonly now: number
  readonly precision?: 'minute' | 'second' | 'millisecond'
}

/** `Tue 17 Nov, 02:30 Berlin`; seconds are shown if requested or if they are not zero. */
export function formatInstant(at: number, zone: string, { now, precision = 'minute' }: InstantStyle): string {
  const parts = partsOf(at, zone)
  const year = parts.year === partsOf(now, zone).year ? '' : ` ${parts.year}`
  return `${parts.weekday} ${parts.day} ${parts.month}${year}, ${clockTime(parts, precision)} ${zoneWord(zone)}`
}

/** `02:30:15.120`, for places where the day is already shown. */
export function formatClock(
  at: number,
  zone: string,
  precision: InstantStyle['precision'] = 'millisecond',
): string {
  return clockTime(partsOf(at, zone), precision)
}

function clockTime(parts: Record<Part, string>, precision: InstantStyle['precision']): string {
  const { hour, minute, second, fractionalSecond } = parts
  if (precision === 'millisecond') return `${hour}:${minute}:${second}.${fractionalSecond}`
  return precision === 'second' || second !== '00' ? `${hour}:${minute}:${second}` : `${hour}:${minute}`
}

/** The two largest units of a duration: `7 h 12 m`, `1.2 s`, `840 ms`. */
export function formatDuration(ms: number): string {
  const length = Math.abs(ms)
  if (length < SECOND_MS) return `${Math.round(length)} ms`
  if (length < 10 * SECOND_MS) return `${trimZero((Math.floor(length / 100) / 10).toFixed(1))} s`
  if (length < MINUTE_MS) return `${Math.floor(length / SECOND_MS)} s`
  if (length < HOUR_MS) return twoUnits(length, MINUTE_MS, 'm', SECOND_MS, 's')
  if (length < DAY_MS) return twoUnits(length, HOUR_MS, 'h', MINUTE_MS, 'm')
  return twoUnits(length, DAY_MS, 'd', HOUR_MS, 'h')
}

/** How late something was; a negative lateness is shown as early. */
export const formatLateness = (ms: number): string =>
  ms < 0 ? `${formatDuration(ms)} early` : formatDuration(ms)

/** Always contains the word late or early: `3 ms late`. */
export const lateOrEarly = (ms: number): string =>
  ms < 0 ? formatLateness(ms) : `${formatDuration(ms)} late`

const trimZero = (text: string) => text.replace(/\.0$/, '')

function twoUnits(ms: number, large: number, largeWord: string, small: number, smallWord: string): string {
  const rest = Math.floor((ms % large) / small)
  return `${Math.floor(ms / large)} ${largeWord}${rest === 0 ? '' : ` ${rest} ${smallWord}`}`
}

const ROUGH_UNITS = [
  ['d', DAY_MS],
  ['h', HOUR_MS],
  ['min', MINUTE_MS],
  ['s', SECOND_MS],
] as const

/** A duration in one unit, rounded down, for sentences: `7 h`, `3 min`, `840 ms`. */
export function roughly(ms: number): string {
  const [unit, unitMs] = ROUGH_UNITS.find(([, length]) => ms >= length) ?? ['ms', 1]
  return `${Math.max(0, Math.floor(ms / unitMs))} ${unit}`
}

/** `in 7 h 12 m`, `3 m ago`, or `now` within a second. Uses whole seconds, because it is shown beside a clock. */
export function formatDistance(at: number, now: number): string {
  const distance = at - now
  if (Math.abs(distance) < SECOND_MS) return 'now'
  const seconds = (distance > 0 ? Math.ceil : Math.floor)(Math.abs(distance) / SECOND_MS) * SECOND_MS
  const text = formatDuration(seconds)
  return distance > 0 ? `in ${text}` : `${text} ago`
}

/** Lists an instant in each of the given zones and in raw form. */
export function describeInstant(at: number, zones: readonly string[], now: number): string {
  const lines = [...new Set(zones)].map((zone) => formatInstant(at, zone, { now, precision: 'millisecond' }))
  return [...lines, new Date(at).toISOString()].join('\n')
}

/** `41 208`: groups are set apart by a thin space, which no language reads as a decimal point. */
export function formatCount(count: number): string {
  return new Intl.NumberFormat('en', { useGrouping: true }).format(count).replaceAll(',', ' ')
}

/** `99.94 %`; a share below 100 is never rounded up to 100. */
export function formatShare(part: number, whole: number): string {
  if (whole === 0) return '–'
  return `${trimZero((Math.floor((part / whole) * 10_000) / 100).toFixed(2).replace(/(\.\d)0$/, '$1'))} %`
}

/** The last part of a zone's name: Berlin for `Europe/Berlin`, Buenos Aires for `America/Argentina/Buenos_Aires`. */
export function zoneWord(zone: string): string {
  return (zone.split('/').at(-1) ?? zone).replaceAll('_', ' ')
}
