/**
 * Wall-clock schedules (cron and daily) under daylight saving: the pattern matches wall times, the zone maps them to instants,
 * and the policies decide about wall times that a clock change skips or repeats.
 *
 * The search visits segments of constant offset in chronological order and considers only matches inside each segment. This
 * guarantees that results never go backwards, that no instant occurs twice, and that `after` may lie inside a gap or a repeated
 * hour.
 *
 * Measured per `nextOccurrence`, zone warm: 0.5 µs for daily and for five-minute patterns, 0.8 µs for monthly patterns in
 * Europe/Berlin. A shared cache of steps would cost as much as it saves, so each rule only stores its latest step. The first
 * step in a zone and year costs 0.3 ms for finding the segments.
 */
import assert from 'node:assert/strict'
import { LRUCache } from 'lru-cache'
import { type CronFields, checkCron, holdsHash, withoutHash } from './cron-fields.ts'
import { CronStepper } from './cron-stepper.ts'
import type { FoldPolicy, GapPolicy } from './daylight-saving.ts'
import { hashOf } from './hash.ts'
import type { WallClockSchedule } from './schedule.ts'
import { EARLIEST_INSTANT, LATEST_INSTANT, MAX_OFFSET_MS, type Zone, zoneOf } from './zone.ts'

/** A rule takes about a kilobyte. With more distinct schedules than this, rules are compiled again when needed (40 µs). */
const MAX_RULES = 8_192
/**
 * Maximum number of hops. Each hop either yields a fire, crosses a clock change, or jumps to the next match. Only a pattern
 * that keeps falling into gaps while `gap` is `skip` needs many: three a year. Its search ends after some years, because each
 * year costs a lookup of its clock changes.
 */
const MAX_HOPS = 20

export class WallRule {
  readonly zone: Zone
  readonly gap: GapPolicy
  readonly fold: FoldPolicy
  readonly #stepper: CronStepper
  /** The latest step, because tasks that share a schedule request the same step one after another. */
  #memo: { readonly after: number; readonly next: number | null } = { after: Number.NaN, next: null }

  constructor(fields: CronFields, schedule: Pick<WallClockSchedule, 'timezone' | 'gap' | 'fold'>) {
    const fixed = isFixedTime(fields)
    this.zone = zoneOf(schedule.timezone)
    this.gap = schedule.gap ?? (fixed ? 'next' : 'skip')
    this.fold = schedule.fold ?? (fixed ? 'first' : 'both')
    this.#stepper = new CronStepper(fields)
  }

  /** The first instant strictly after `after` at which the rule fires. */
  nextFire(after: number): number | null {
    if (this.#memo.after === after) return this.#memo.next
    const next = this.#search(Math.max(after + 1, EARLIEST_INSTANT))
    this.#memo = { after, next }
    return next
  }

  /** The first matching wall time in [from, to), even if the clocks skip it. */
  firstWallWithin(from: number, to: number): number | null {
    const wall = this.#stepper.next(from)
    return wall !== null && wall < to ? wall : null
  }

  #search(from: number): number | null {
    let instant = from
    for (let hop = 0; hop < MAX_HOPS && instant < LATEST_INSTANT; hop += 1) {
      const segment = this.zone.segmentAt(instant)
      const { start, end, offset, gapFrom, repeatedUntil, repeatsFrom } = segment
      if (gapFrom !== null && instant === start && this.gap === 'next') {
        if (this.firstWallWithin(gapFrom, start + offset) !== null) return start
      }
      const low = instant + offset
      const high = end + offset
      const wall = this.firstWallWithin(
        this.fold === 'first' ? Math.max(low, repeatedUntil) : low,
        this.fold === 'last' ? Math.min(high, repeatsFrom) : high,
      )
      if (wall !== null) return wall - offset
      const onward = this.#jump(end)
      if (onward === null) return null
      instant = onward
    }
    return null
  }

  /**
   * An instant at or after `end` before which nothing can fire. Whatever the offsets are, instants between `end` and the result
   * show only wall times between `end − MAX_OFFSET_MS` and the next match, none of which matches. So a yearly pattern skips the
   * segments in between.
   */
  #jump(end: number): number | null {
    const match = this.#stepper.next(end - MAX_OFFSET_MS)
    return match === null ? null : Math.max(end, match - MAX_OFFSET_MS)
  }
}

/** Whether a pattern has fixed times rather than intervals: no star and no step in second, minute and hour. */
const isFixedTime = ({ second, minute, hour }: CronFields): boolean => !/[*?/]/.test(second + minute + hour)

const rules = new LRUCache<string, WallRule>({ max: MAX_RULES })

/** The rule of a valid schedule. The seed matters only if the expression contains `H`. */
export function wallRuleOf(schedule: WallClockSchedule, seed: string | null = null): WallRule {
  const expression = expressionOf(schedule)
  const drawnFrom = holdsHash(expression) ? (seed ?? '') : null
  const key = `${expression}\n${schedule.timezone}\n${schedule.gap}\n${schedule.fold}${drawnFrom === null ? '' : `\n${drawnFrom}`}`
  let rule = rules.get(key)
  if (rule === undefined) {
    rule = new WallRule(fieldsFor(expression, drawnFrom), schedule)
    rules.set(key, rule)
  }
  return rule
}

/** The fields of a valid expression. `H` is replaced by the values for the seed. */
export function fieldsFor(expression: string, seed: string | null): CronFields {
  const checked = checkCron(expression)
  assert(checked.ok, `the stored cron expression "${expression}" is not valid`)
  const { fields } = checked
  if (seed === null || !holdsHash(expression)) return fields
  return withoutHash({ fields, draw: (field) => hashOf(`${seed}\n${field}`) })
}

const expressionOf = (schedule: WallClockSchedule): string =>
  schedule.type === 'cron' ? schedule.expression : `${schedule.minute} ${schedule.hour} * * *`
