/**
 * Offsets of IANA time zones as segments of constant offset, with the effect of their borders on the wall clock. `Intl` is the
 * only source of zone rules; it takes about 2 µs per instant, so borders are found once by bisection and cached per zone and
 * block of about a year.
 */

import { LRUCache } from 'lru-cache'
import { DAY_MS } from '../values/time-units.ts'
import { clockFormat } from './clock-format.ts'

/**
 * Interval between probes. No zone has kept an offset for less than 7 days since 1970, nor will by 2090 (every zone, tzdata
 * 2025c).
 */
const PROBE_MS = 5 * DAY_MS
const BLOCK_MS = 73 * PROBE_MS
/** Borders this close to a block are looked up too; the largest jump of a wall clock, Apia's, was one day. */
const MARGIN_MS = PROBE_MS
/** Maximum number of cached zones. A formatter takes some ten kilobytes; few installations use more than a handful of zones. */
const MAX_ZONES = 256
const MAX_BLOCKS_PER_ZONE = 64
const MAX_KNOWN_NAMES = 2_048
/** The longest name in the database has 32 characters. */
const MAX_ZONE_NAME_LENGTH = 64

/** Bound on offsets. The largest ones are much smaller: zones at the date line have −12 h and +14 h. */
export const MAX_OFFSET_MS = 16 * 3_600_000

/** The range of instants that zones support. Outside it, years do not have four digits or zones did not exist. */
export const EARLIEST_INSTANT = Date.UTC(1900, 0, 1)
export const LATEST_INSTANT = Date.UTC(9990, 0, 1)

/**
 * A period [start, end) of instants with one offset, cut at the borders of its block. Wall times are instants plus offset. The
 * three wall times describe the effect of the clock changes at its ends.
 */
export interface Segment {
  readonly start: number
  readonly end: number
  readonly offset: number
  /** The wall time from which the clocks jumped to `start + offset`; null if nothing was skipped at `start`. */
  readonly gapFrom: number | null
  /** Wall times before this one are shown for the second time. */
  readonly repeatedUntil: number
  /** Wall times from this one on are shown again in the next segment. */
  readonly repeatsFrom: number
}

/** At the instant `at`, the offset changes from `before` to `after`. */
export interface ClockChange {
  readonly at: number
  readonly before: number
  readonly after: number
}

export class Zone {
  readonly #format: Intl.DateTimeFormat
  readonly #blocks = new LRUCache<number, readonly Segment[]>({ max: MAX_BLOCKS_PER_ZONE })
  #latest: Segment | undefined

  constructor(name: string) {
    this.#format = clockFormat(name)
  }

  /** The segment that contains an instant between EARLIEST_INSTANT and LATEST_INSTANT. */
  segmentAt(instant: number): Segment {
    const latest = this.#latest
    if (latest !== undefined && latest.start <= instant && instant < latest.end) return latest
    const index = Math.floor(instant / BLOCK_MS)
    let block = this.#blocks.get(index)
    if (block === undefined) {
      block = this.#findSegments(index)
      this.#blocks.set(index, block)
    }
    const segment = block.find(({ end }) => instant < end)
    if (segment === undefined) throw new RangeError(`no zone segment holds the instant ${instant}`)
    this.#latest = segment
    return segment
  }

  /** The clock changes in [from, to], in order. The caller bounds the range: a year costs two lookups. */
  *clockChanges(from: number, to: number): Generator<ClockChange, void, undefined> {
    let segment = this.segmentAt(Math.max(from - 1, EARLIEST_INSTANT))
    while (segment.end <= Math.min(to, LATEST_INSTANT)) {
      const next = this.segmentAt(segment.end)
      if (next.offset !== segment.offset) yield { at: next.start, before: segment.offset, after: next.offset }
      segment = next
    }
  }

  /** The instants at which the clocks show a wall time, in order: none in a gap, two in a fold. */
  instantsShowing(wall: number): number[] {
    const shown: number[] = []
    for (const { start, end, offset } of this.#segmentsAround(wall)) {
      const instant = wall - offset
      if (instant >= start && instant < end) shown.push(instant)
    }
    return shown
  }

  /** The first instant after the gap that contains a wall time; null if the clocks show it. */
  endOfGap(wall: number): number | null {
    for (const { start, offset, gapFrom } of this.#segmentsAround(wall)) {
      if (gapFrom !== null && gapFrom <= wall && wall < start + offset) return start
    }
    return null
  }

  /** Every segment that could contain a wall time, whatever its offset. */
  *#segmentsAround(wall: number): Generator<Segment, void, undefined> {
    const last = Math.min(wall + MAX_OFFSET_MS, LATEST_INSTANT)
    let instant = Math.max(wall - MAX_OFFSET_MS, EARLIEST_INSTANT)
    while (instant <= last) {
      const segment = this.segmentAt(instant)
      yield segment
      instant = segment.end
    }
  }

  #findSegments(index: number): Segment[] {
    const from = index * BLOCK_MS
    const to = from + BLOCK_MS
    const borders = this.#findBorders(from - MARGIN_MS, to + MARGIN_MS)
    const segments: Segment[] = []
    for (let i = 0; i + 1 < borders.length; i += 1) {
      const [before, here, after] = [borders[i - 1], borders[i], borders[i + 1]]
      if (here === undefined || after === undefined) break
      const start = Math.max(here.at, from)
      const end = Math.min(after.at, to)
      if (start >= end) continue
      const previous = before?.offset ?? here.offset
      segments.push({
        start,
        end,
        offset: here.offset,
        gapFrom: previous < here.offset && here.at === start ? here.at + previous : null,
        repeatedUntil: previous > here.offset ? here.at + previous : Number.NEGATIVE_INFINITY,
        repeatsFrom: after.offset < here.offset ? after.at + after.offset : Number.POSITIVE_INFINITY,
      })
    }
    return segments
  }

  /** The instants at which a new offset begins; both ends of the range are included as borders. */
  #findBorders(from: number, to: number): Border[] {
    const borders: Border[] = [{ at: from, offset: this.#offsetAt(from) }]
    let offset = this.#offsetAt(from)
    for (let probe = from + PROBE_MS; probe <= to; probe += PROBE_MS) {
      const probed = this.#offsetAt(probe)
      if (probed !== offset)
        borders.push({ at: this.#bisect(probe - PROBE_MS, probe, offset), offset: probed })
      offset = probed
    }
    borders.push({ at: to, offset })
    return borders
  }

  /** The first whole second in (low, high] whose offset is no longer `offset`. */
  #bisect(low: number, high: number, offset: number): number {
    let [same, different] = [low, high]
    while (different - same > 1_000) {
      const middle = same + Math.floor((different - same) / 2_000) * 1_000
      if (this.#offsetAt(middle) === offset) same = middle
      else different = middle
    }
    return different
  }

  /** Reads `MM/DD/YYYY, HH:MM:SS` at fixed places: several times faster than formatToParts. */
  #offsetAt(instant: number): number {
    const text = this.#format.format(instant)
    const number = (from: number, to: number): number => Number(text.slice(from, to))
    const date = [number(6, 10), number(0, 2) - 1, number(3, 5)] as const
    return Date.UTC(...date, number(12, 14), number(15, 17), number(18, 20)) - instant
  }
}

interface Border {
  readonly at: number
  readonly offset: number
}

const zones = new LRUCache<string, Zone>({ max: MAX_ZONES })

/** The zone of a name that `zoneProblem` accepts. */
export function zoneOf(name: string): Zone {
  let zone = zones.get(name)
  if (zone === undefined) {
    zone = new Zone(name)
    zones.set(name, zone)
  }
  return zone
}

const known = new LRUCache<string, boolean>({ max: MAX_KNOWN_NAMES })

/**
 * Why a name is not a zone; null if it is. The runtime decides, because its list of names (`Intl.supportedValuesOf`) lacks UTC
 * and every modern alias. Some runtimes accept bare offsets; they are rejected here, because an offset has no daylight saving
 * and users who enter one rarely intend that.
 */
export function zoneProblem(name: string): string | null {
  const example = 'use an IANA name such as Europe/Berlin or UTC'
  if (name === '') return `is empty; ${example}`
  if (name.length > MAX_ZONE_NAME_LENGTH)
    return `is longer than ${MAX_ZONE_NAME_LENGTH} characters; ${example}`
  if (/^[+-]?\d/.test(name)) return `is a UTC offset, which has no daylight saving rules; ${example}`
  let isKnown = known.get(name)
  if (isKnown === undefined) {
    isKnown = isZone(name)
    known.set(name, isKnown)
  }
  return isKnown ? null : `is not a known time zone; ${example}`
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
