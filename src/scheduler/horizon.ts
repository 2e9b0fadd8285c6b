/**
 * What must be read to know everything that comes due soon. The part ahead is read once, as time moves on;
 * the last seconds are read again in each pass, which finds what a lost hint was about; everything, however
 * long ago it was due, is read now and then; and what a hint is about is read at once, and nothing else.
 */
import type { DueHint } from '../transport/wake-ups.ts'

/** A stretch of time to read, in all shards or in those a hint was about. */
export interface Range {
  readonly kind: 'all' | 'back' | 'ahead' | 'hinted' | 'passed'
  readonly shards: readonly number[]
  /** Null: from the beginning of time. */
  readonly from: number | null
  readonly until: number
  /** Which set of shards it was planned for; what was read for another set says nothing about this one. */
  readonly epoch: number
}

/** A crowd of rows of about one instant that was not read whole; what comes after it was. */
export interface PassedOver {
  readonly from: number
  readonly until: number
}

/** The result of reading a range. */
export interface Reading {
  /** Some shard had more rows than were read. */
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
  /** Everything due before this instant has been read, as far as it was there. */
  #readUntil: number | undefined
  /** The end of the part ahead that is being read just now, which may not see what is written meanwhile. */
  #readingUntil: number | undefined
  /** When everything is to be read again. */
  #everythingAt = Number.NEGATIVE_INFINITY
  /** Where the look back must begin, when the last one did not reach its end. */
  #backFrom: number | undefined
  #hinted = new Map<number, { from: number; to: number }>()
  /** Some range held more rows than were read. */
  #isCut = false
  /** The part ahead did. */
  #isAheadCut = false
  /** What is still to be read of crowds that the part ahead went past. */
  #passed: PassedOver | undefined
  #epoch = 0

  constructor(options: HorizonOptions) {
    this.#options = options
  }

  /** Whoever writes something for an earlier instant must put it in the queue: no pass reads it in time. */
  get readUntil(): number {
    return Math.max(
      this.#readUntil ?? Number.NEGATIVE_INFINITY,
      this.#readingUntil ?? Number.NEGATIVE_INFINITY,
    )
  }

  /** More is waiting than was read; it is worth reading on as soon as what was read is fired. */
  get isCut(): boolean {
    return this.#isCut || this.#passed !== undefined
  }

  /** Forgets what was read: other shards are watched now. */
  reset(): void {
    this.#epoch++
    this.#readUntil = undefined
    this.#everythingAt = Number.NEGATIVE_INFINITY
    this.#backFrom = undefined
    this.#isCut = false
    this.#isAheadCut = false
    this.#passed = undefined
  }

  /** Takes in that rows were written; false when they lie beyond what is read now and will be found in time. */
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
   * What to read in this pass. While there is `plenty` in hand only hints are followed, and what comes due next is read
   * before its time: what is late already would be found again in front of what is on time.
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

  /** The rest of a crowd: before its time it is read for itself, then with all else that is late. */
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
        // More than a hint's worth: it is read like everything else that is late.
        if (isCut && range.from !== null) this.#backFrom = Math.min(range.from, this.#backFrom ?? range.from)
        break
    }
  }

  /** A range could not be read: what it was about is still to be found. */
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
