/**
 * Redacts the values of secrets in everything that an attempt records: `[secret NAME]` replaces them. A value is found in its
 * plain form and with any of its characters escaped as in a URL, a JSON string or HTML, or in one inside the other, and in base64
 * at any position and in hexadecimal, also with line breaks and other whitespace in between. So is each line of a value with
 * several lines. If the text was cut within a value, the beginning of the value is redacted as well.
 */
import {
  encodedPatterns,
  type Found,
  MIN_CHARACTERS,
  type NamedValue,
  type PatternSet,
  plainPatterns,
} from './patterns.ts'
import {
  beforeBegunEscape,
  beforeEscape,
  beginningOf,
  digitsOf,
  MAX_GROWTH,
  type Reading,
  readingsOf,
} from './readings.ts'

export class Redactor {
  readonly #plain: PatternSet
  readonly #encoded: PatternSet
  /** Maximum number of bytes of a value in any form. */
  readonly longest: number

  constructor(secrets: Iterable<NamedValue>) {
    const values = [...secrets]
    this.#plain = plainPatterns(values)
    this.#encoded = encodedPatterns(values)
    this.longest = this.#plain.longest * MAX_GROWTH
  }

  /** Number of bytes that it takes in memory, about. */
  get size(): number {
    return this.#plain.size + this.#encoded.size
  }

  text(text: string): string {
    if (text.length < MIN_CHARACTERS || this.longest === 0) return text
    const bytes = Buffer.from(text)
    const found = [...this.find(bytes), ...this.findCut(bytes)]
    return found.length === 0 ? text : blanked(bytes, clustersOf(found)).toString()
  }

  /** Redacts all texts and numbers of a JSON value. */
  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (typeof value === 'number') {
      const text = String(value)
      const kept = this.text(text)
      return kept === text ? value : kept
    }
    if (Array.isArray(value)) return value.map((item) => this.value(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [this.text(name), this.value(member)]),
    )
  }

  /** Returns a stream for text that arrives in pieces. It also finds values that are split between pieces. */
  stream(): RedactingStream {
    return new RedactingStream(this)
  }

  /**
   * Redacts the parts of a text that is published in several steps, when no part can wait for the next one. `before` is the end
   * of the published text, as far as it may be the beginning of a value; null if it is unknown, in which case the end of a
   * value is also redacted at the start. If a value is split into two parts, fewer than six of its characters remain, and less
   * than half of it.
   */
  parts(texts: readonly string[], before: Buffer | null): RedactedParts {
    const parts = texts.map((text) => Buffer.from(text))
    const all = Buffer.concat([before ?? Buffer.alloc(0), ...parts])
    const found = [...this.find(all), ...this.findCut(all, halfOf), ...(before ? [] : this.#findRest(all))]
    const clusters = clustersOf(found)
    let start = before?.length ?? 0
    const told = parts.map(({ length }) => {
      const end = start + length
      const text = blanked(all.subarray(0, end), clusters.flatMap(within(start, end)), start)
      start = end
      return text.toString()
    })
    return { texts: told, begun: all.subarray(this.findBegun(all)) }
  }

  /** Finds every range that is a whole value. */
  find(bytes: Buffer): Found[] {
    return this.#search(bytes, (patterns, reading) => patterns.find(reading))
  }

  /** Finds the beginnings of values that the end of the text cuts off. */
  findCut(bytes: Buffer, least: (pattern: Buffer) => number = () => MIN_CHARACTERS): Found[] {
    return this.#search(bytes, (patterns, reading) => patterns.findCut(reading, least))
  }

  /** Finds the ends of values that the start of the text cuts off. */
  #findRest(bytes: Buffer): Found[] {
    return this.#search(bytes, (patterns, reading) => patterns.findRest(reading, halfOf))
  }

  #search(bytes: Buffer, findIn: (patterns: PatternSet, reading: Reading) => Found[]): Found[] {
    return readingsOf(bytes).flatMap((reading) => [
      ...findIn(this.#plain, reading),
      ...findIn(this.#encoded, digitsOf(reading)),
    ])
  }

  /**
   * Returns the index at which an incomplete value or escape may begin; the length of the text if there is none. Fewer than
   * `leastDigits` digits at the end do not count as the beginning of an encoded value.
   */
  findBegun(bytes: Buffer, leastDigits = 1): number {
    const places = readingsOf(bytes).flatMap((reading) => {
      const certain = beginningOf(reading, beforeBegunEscape(reading.bytes))
      const digits = digitsOf(certain)
      const begun = this.#encoded.begunBytes(digits, leastDigits)
      return [
        certain.startOf(certain.bytes.length - this.#plain.begunBytes(certain, 1)),
        digits.startOf(digits.bytes.length - begun),
      ]
    })
    return Math.min(bytes.length, ...places)
  }
}

/** The redacted parts, and the end of the text that may be the beginning of a value. */
export interface RedactedParts {
  readonly texts: readonly string[]
  readonly begun: Buffer
}

/** Minimum number of bytes that count as a part of a value. */
const halfOf = ({ length }: Buffer) => Math.min(MIN_CHARACTERS, Math.ceil(length / 2))

/** The overlap of a range with a part of the text. The name is inserted in the part in which the range ends. */
const within =
  (from: number, to: number) =>
  ({ name, start, end }: Found): Found[] =>
    start >= to || end <= from
      ? []
      : [{ name: end <= to ? name : null, start: Math.max(start, from), end: Math.min(end, to) }]

/** Redacts text that arrives in pieces. Text that may be the beginning of a value is kept until the next piece. */
export class RedactingStream {
  readonly #redactor: Redactor
  #kept: Buffer = Buffer.alloc(0)

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Takes a piece, and returns the text that can be published. */
  push(chunk: Buffer): Buffer {
    const all = Buffer.concat([this.#kept, chunk])
    const { longest } = this.#redactor
    if (longest === 0) return all
    const clusters = clustersOf(this.#redactor.find(all))
    let cut = beforeEscape(all, Math.max(0, all.length - longest))
    const across = clusters.find(({ start, end }) => start < cut && end > cut)
    if (across) cut = across.start
    // A range without end, or a long sequence of escapes, is published in parts.
    if (all.length - cut > longest + MAX_WAITING_BYTES) cut = across?.end ?? all.length - longest
    this.#kept = all.subarray(cut)
    return blanked(
      all.subarray(0, cut),
      clusters.filter(({ end }) => end <= cut),
    )
  }

  /** Whether text is kept until the next piece. */
  get isWaiting(): boolean {
    return this.#kept.length > 0
  }

  /** Returns all kept text except what may be the beginning of a value, for callers that show the text so far. */
  settle(): Buffer {
    const kept = this.#kept
    const clusters = clustersOf(this.#redactor.find(kept))
    const begun = this.#redactor.findBegun(kept, endsInWords(kept) ? MIN_CHARACTERS : 1)
    let cut = begun === kept.length ? begun : beforeEscape(kept, begun)
    const across = clusters.find(({ start, end }) => start < cut && end > cut)
    if (across) cut = across.start
    this.#kept = kept.subarray(cut)
    return blanked(
      kept.subarray(0, cut),
      clusters.filter(({ end }) => end <= cut),
    )
  }

  /** Returns the kept text. */
  end(): Buffer {
    const rest = this.#kept
    this.#kept = Buffer.alloc(0)
    return blanked(rest, clustersOf([...this.#redactor.find(rest), ...this.#redactor.findCut(rest)]))
  }
}

/** Maximum number of bytes that a stream keeps, in addition to the maximum size of a value. */
const MAX_WAITING_BYTES = 32 * 1024

/** Maximum number of bytes of the last line that `endsInWords` looks at. */
const MAX_LAST_LINE = 512
const DIGIT_LINE = /(?:^|[\r\n])[ \t]*(?:[\w+/-]{16,}|(?:[0-9a-f]{2}[ \t]*){8,})\s+$/i

/**
 * Whether a text ends in whitespace after a line that is not all digits. An encoded value is then unlikely to go on, and the text
 * need not wait for more because its last letter could also be the first digit of a value.
 */
function endsInWords(bytes: Buffer): boolean {
  const end = bytes.toString('latin1', Math.max(0, bytes.length - MAX_LAST_LINE))
  return /\s$/.test(end) && !DIGIT_LINE.test(end)
}

/** Combines overlapping ranges. The result has the name of the range that begins first, or of the longest of these. */
function clustersOf(found: readonly Found[]): Found[] {
  const clusters: Found[] = []
  for (const each of [...found].sort((a, b) => a.start - b.start || b.end - a.end)) {
    const last = clusters.at(-1)
    if (!last || each.start >= last.end) clusters.push(each)
    else if (each.end > last.end) clusters[clusters.length - 1] = { ...last, end: each.end }
  }
  return clusters
}

function blanked(bytes: Buffer, clusters: readonly Found[], begin = 0): Buffer {
  if (clusters.length === 0) return bytes.subarray(begin)
  const parts: Buffer[] = []
  let from = begin
  for (const { name, start, end } of clusters) {
    parts.push(bytes.subarray(from, start), Buffer.from(name === null ? '' : `[secret ${name}]`))
    from = end
  }
  return Buffer.concat([...parts, bytes.subarray(from)])
}
