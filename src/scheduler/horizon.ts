/**
 * Plans what must be read to know everything that comes due soon. The part ahead is read once, as time moves on. The last few
 * seconds are read again in each pass, which finds the rows of lost hints. Everything due, however old, is read periodically.
 * The range of a hint is read at once.
 */
import type { DueHint } from '../transport/wake-ups.ts'

/** A time range to read, in all shards or in those that a hint named. */
export interface Range {
  readonly kind: 'all' | 'back' | 'ahead' | 'hinted' | 'passed'
  readonly shards: readonly number[]
  /** Null for all rows due before `until`. */
  readonly from: number | null
  readonly until: number
  /** The set of shards that the range was planned for; the result of reading another set does not count for this one. */
  readonly epoch: number
}

/** A crowd of rows due at about one instant that was not read completely, while the rows after it were. */
export interface PassedOver {
  readonly from: number
  readonly until: number
}

/** The result of reading a range. */
export interface Reading {
  /** Whether some shard had more rows than were read. */
  readonly isCut: boolean
  readonly passed?: PassedOver | null
}

export interface HorizonOptions {
  readonly lookAheadMs: number
  readonly lookBackMs: number
  readonly everythingEveryMs: number
}

export class Horizon {
  readonly #options: HorizonOptions
  /** Everything due before this instant has been read, as far as it existed then. */
  #readUntil: number | undefined
  /** The end of the part ahead that is being read now; the read may not see rows that are written meanwhile. */
  #readingUntil: number | undefined
  /** When everything is to be read again. */
  #everythingAt = Number.NEGATIVE_INFINITY
  /** Where the next look back must begin if the last one did not reach its end. */
  #backFrom: number | undefined
  #hinted = new Map<number, { from: number; to: number }>()
  /** Whether some range held more rows than were read. */
  #isCut = false
  /** Whether the part ahead held more rows than were read. */
  #isAheadCut = false
  /** The crowds that the part ahead skipped and that are still to be read. */
  #passed: PassedOver | undefined
  #epoch = 0

  constructor(options: HorizonOptions) {
    this.#options = options
  }

  /** Rows written for an earlier instant than this must be added to the queue by their writer: no pass reads them in time. */
  get readUntil(): number {
    return Math.max(
      this.#readUntil ?? Number.NEGATIVE_INFINITY,
      this.#readingUntil ?? Number.NEGATIVE_INFINITY,
    )
  }

  /** Whether more rows are waiting than were read, so that reading should continue as soon as these are fired. */
  get isCut(): boolean {
    return this.#isCut || this.#passed !== undefined
  }

  /** Discards what is known, because this node owns other shards now. */
  reset(): void {
    this.#epoch++
    this.#readUntil = undefined
    this.#everythingAt = Number.NEGATIVE_INFINITY
    this.#backFrom = undefined
    this.#isCut = false
    this.#isAheadCut = false
    this.#passed = undefined
  }

  /** Records that rows were written; returns false if they all lie beyond the horizon and will be found in time. */
  hint(hints: readonly DueHint[], now: number): boolean {
    let isNews = false
    const horizon = now + this.#options.lookAheadMs
    for (const { shard, at, until = at } of hints) {
      if (at >= horizon) continue
      isNews = true
      const known = this.#hinted.get(shard)
      this.#hinted.set(shard, {
        from: Math.min(at, known?.from ?? at),
        to: Math.max(Math.min(until, horizon), known?.to ?? at),
      })
    }
    return isNews
  }

  /**
   * Returns what to read in this pass. While there is `plenty` in hand and reading was cut off, only hints are followed and the
   * part ahead is read in time: late rows that are in hand already would be returned again, ahead of rows on time.
   */
  plan(now: number, shards: readonly number[], plenty: boolean): Range[] {
    const ranges: Range[] = []
    const hinted = this.#hintedRange(shards)
    if (hinted) ranges.push(hinted)
    const { lookAheadMs, lookBackMs } = this.#options
    if (plenty && this.isCut) {
      const isNearlyRead = this.#readUntil !== undefined && this.#readUntil < now + lookAheadMs / 2
      if (isNearlyRead && !this.#isAheadCut) ranges.push(this.#aheadRange(now, shards))
      return ranges
    }
    this.#isCut = false
    const passed = this.#passedRange(now, shards)
    if (passed) ranges.push(passed)
    if (now >= this.#everythingAt)
      ranges.push({ kind: 'all', shards, from: null, until: now, epoch: this.#epoch })
    else
      ranges.push({
        kind: 'back',
        shards,
        from: this.#backFrom ?? now - lookBackMs,
        until: now,
        epoch: this.#epoch,
      })
    ranges.push(this.#aheadRange(now, shards))
    return ranges
  }

  /** Returns the range of the rest of a crowd. Before its time it is read separately; then it is read with all other late rows. */
  #passedRange(now: number, shards: readonly number[]): Range | undefined {
    const passed = this.#passed
    if (passed === undefined) return undefined
    if (passed.until > now) return { kind: 'passed', shards, ...passed, epoch: this.#epoch }
    this.#backFrom = Math.min(passed.from, this.#backFrom ?? now - this.#options.lookBackMs)
    this.#passed = undefined
    return undefined
  }

  #pass(crowd: PassedOver): void {
    const { from, until } = this.#passed ?? crowd
    this.#passed = { from: Math.min(from, crowd.from), until: Math.max(until, crowd.until) }
  }

  #aheadRange(now: number, shards: readonly number[]): Range {
    const until = now + this.#options.lookAheadMs
    this.#readingUntil = until
    return { kind: 'ahead', shards, from: this.#readUntil ?? now, until, epoch: this.#epoch }
  }

  /** Records the result of reading a range. */
  settle(range: Range, { isCut, passed = null }: Reading): void {
    if (range.kind === 'ahead') this.#readingUntil = undefined
    if (range.epoch !== this.#epoch) return
    if (isCut) this.#isCut = true
    switch (range.kind) {
      case 'all':
        if (!isCut) this.#everythingAt = range.until + this.#options.everythingEveryMs
        break
      case 'back':
        this.#backFrom = isCut ? (range.from ?? undefined) : undefined
        break
      case 'ahead':
        this.#isAheadCut = isCut
        if (!isCut) this.#readUntil = range.until
        else this.#readUntil ??= range.from ?? undefined
        if (passed) this.#pass(passed)
        break
      case 'passed':
        if (!isCut) this.#passed = undefined
        break
      case 'hinted':
        // There are more rows than the hint announced, so the range is read with all other late rows.
        if (isCut && range.from !== null) this.#backFrom = Math.min(range.from, this.#backFrom ?? range.from)
        break
    }
  }

  /** Records that a range could not be read, so that its rows are still found. */
  giveBack({ kind, shards, from, until }: Range): void {
    if (kind === 'ahead') this.#readingUntil = undefined
    if (kind !== 'hinted' || from === null) return
    for (const shard of shards) {
      const known = this.#hinted.get(shard)
      this.#hinted.set(shard, {
        from: Math.min(from, known?.from ?? from),
        to: Math.max(until - 1, known?.to ?? 0),
      })
    }
  }

  #hintedRange(watched: readonly number[]): Range | undefined {
    const entries = [...this.#hinted].filter(([shard]) => watched.includes(shard))
    this.#hinted = new Map()
    if (entries.length === 0) return undefined
    const from = Math.min(...entries.map(([, range]) => range.from))
    const until = Math.max(...entries.map(([, range]) => range.to)) + 1
    return { kind: 'hinted', shards: entries.map(([shard]) => shard), from, until, epoch: this.#epoch }
  }
}
