/** The byte sequences by which the values of secrets are recognised in a text, and the search for them. */
import type { Reading } from './readings.ts'

/** Shorter values are not redacted, because they would be found everywhere. */
export const MIN_CHARACTERS = 6

/** A byte sequence to find, and the secret that it belongs to. */
interface Pattern {
  readonly name: string
  readonly bytes: Buffer
}

/** A range of the text to remove. */
export interface Found {
  /** Name of the secret that replaces the range; null if nothing replaces it. */
  readonly name: string | null
  readonly start: number
  readonly end: number
}

export type NamedValue = readonly [name: string, value: string]

/** A value is found with this many of its lines in hexadecimal and in base64: each line takes about ten patterns. */
export const MAX_ENCODED_LINES = 500

/** A value, and each of its lines if it has several, since these may be written one by one. */
const textsOf = (value: string): readonly string[] =>
  value.length < MIN_CHARACTERS
    ? []
    : [value, ...(/[\r\n]/.test(value) ? value.split(/[\r\n]+/).map((line) => line.trim()) : [])].filter(
        (text) => text.length >= MIN_CHARACTERS,
      )

/** Values as they are. */
export const plainPatterns = (values: Iterable<NamedValue>): PatternSet =>
  new PatternSet([...values].flatMap(([name, value]) => patterns(name, textsOf(value))))

/** Values in hexadecimal and in base64, to be found among the digits of a text. */
export const encodedPatterns = (values: Iterable<NamedValue>): PatternSet =>
  new PatternSet(
    [...values].flatMap(([name, value]) => patterns(name, encodedTextsOf(value).flatMap(encodedForms))),
  )

/** The value itself and its first lines. */
const encodedTextsOf = (value: string) => textsOf(value).slice(0, 1 + MAX_ENCODED_LINES)

const patterns = (name: string, texts: readonly string[]): readonly Pattern[] =>
  [...new Set(texts)].map((text) => ({ name, bytes: Buffer.from(text) }))

function encodedForms(text: string): readonly string[] {
  const bytes = Buffer.from(text)
  const hex = bytes.toString('hex')
  return [hex, hex.toUpperCase(), ...base64Forms(bytes)]
}

/** Base64 encodes three bytes as four digits, so the form of a value depends on its position modulo three. */
const base64Forms = (value: Buffer): readonly string[] =>
  [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), value]).toString('base64')
    const begin = Math.ceil((offset * 8) / 6)
    // The last digit depends on the following byte, unless the value is at the end.
    const certain = Math.floor(((offset + value.length) * 8) / 6)
    return [encoded.slice(begin, certain), encoded.slice(begin).replace(/=+$/, ''), encoded.slice(begin)]
  })

/** Number of bytes by which the patterns are indexed: fewer than the shortest part of a value that is looked for. */
const PREFIX_BYTES = 3
const PREFIX_MASK = 0xffffff

/** Measured: what an entry of the index and the object of a buffer take. */
const PATTERN_OVERHEAD_BYTES = 130

const HASHES = 4_096
const hashOf = (prefix: number): number => (prefix ^ (prefix >> 12)) % HASHES

/** Patterns that are looked for together. The time is that of one pass over the text, however many patterns there are. */
export class PatternSet {
  readonly #patterns: readonly Pattern[]
  readonly #byPrefix = new Map<number, Pattern[]>()
  /** Marks the hashes of the prefixes, so that most places of a text need no look into the map. */
  readonly #isPrefix = new Uint8Array(HASHES)
  /** The first byte of each pattern, and the first two. */
  readonly #begun = new Set<number>()
  /** Maximum number of bytes of a pattern. */
  readonly longest: number
  /** Number of bytes that the patterns take in memory, about. */
  readonly size: number

  constructor(patterns: readonly Pattern[]) {
    this.#patterns = patterns
    this.size = patterns.reduce((sum, { bytes }) => sum + bytes.length + PATTERN_OVERHEAD_BYTES, HASHES)
    this.longest = patterns.reduce((longest, { bytes }) => Math.max(longest, bytes.length), 0)
    for (const pattern of patterns) {
      const prefix = pattern.bytes.readUIntBE(0, PREFIX_BYTES)
      const others = this.#byPrefix.get(prefix)
      if (others) others.push(pattern)
      else this.#byPrefix.set(prefix, [pattern])
      this.#isPrefix[hashOf(prefix)] = 1
      this.#begun.add(pattern.bytes.readUInt8(0)).add(0x10000 | pattern.bytes.readUInt16BE(0))
    }
  }

  /** Every occurrence of each pattern. Overlapping occurrences of a pattern are combined and skipped together. */
  find({ bytes, startOf, endOf }: Reading): Found[] {
    const found: Found[] = []
    const ends = new Map<Pattern, number>()
    this.#each(bytes, 0, (pattern, at) => {
      if (at < (ends.get(pattern) ?? 0) || !isAt(bytes, at, pattern.bytes)) return
      const end = lastEnd(bytes, at, pattern.bytes)
      ends.set(pattern, end)
      found.push({ name: pattern.name, start: startOf(at), end: endOf(end) })
    })
    return found
  }

  /** The beginnings of patterns that the end of the text cuts off: of each pattern the longest, if it has enough bytes. */
  findCut({ bytes, startOf, endOf }: Reading, least: (pattern: Buffer) => number): Found[] {
    const found = new Map<Pattern, Found>()
    this.#each(bytes, bytes.length - this.longest, (pattern, at) => {
      const length = bytes.length - at
      if (found.has(pattern) || length < least(pattern.bytes) || !isCutAt(bytes, at, pattern.bytes)) return
      found.set(pattern, { name: pattern.name, start: startOf(at), end: endOf(bytes.length) })
    })
    return [...found.values()]
  }

  /** Number of bytes at the end of the text that are the beginning of a pattern, if there are at least `least`. */
  begunBytes({ bytes }: Reading, least: number): number {
    let begun = 0
    this.#each(bytes, bytes.length - this.longest, (pattern, at) => {
      if (begun === 0 && isCutAt(bytes, at, pattern.bytes)) begun = bytes.length - at
    })
    if (begun === 0 && bytes.length > 0) {
      const last = bytes[bytes.length - 1] as number
      const two = 0x10000 | ((bytes[bytes.length - 2] ?? 0) << 8) | last
      begun = bytes.length > 1 && this.#begun.has(two) ? 2 : this.#begun.has(last) ? 1 : 0
    }
    return begun < least ? 0 : begun
  }

  /** The ends of patterns that the start of the text cuts off. */
  findRest({ bytes, startOf, endOf }: Reading, least: (pattern: Buffer) => number): Found[] {
    return this.#patterns.flatMap(({ name, bytes: wanted }) => {
      for (let length = Math.min(wanted.length - 1, bytes.length); length >= least(wanted); length--)
        if (
          bytes[length - 1] === wanted[wanted.length - 1] &&
          wanted.compare(bytes, 0, length, wanted.length - length) === 0
        )
          return [{ name, start: startOf(0), end: endOf(length) }]
      return []
    })
  }

  /** Calls back for each pattern whose first bytes are at a place of the text. */
  #each(bytes: Buffer, from: number, take: (pattern: Pattern, at: number) => void): void {
    const first = Math.max(0, from)
    let prefix = 0
    for (let next = first; next < bytes.length; next++) {
      prefix = ((prefix << 8) | (bytes[next] as number)) & PREFIX_MASK
      const at = next - PREFIX_BYTES + 1
      if (at < first || this.#isPrefix[hashOf(prefix)] === 0) continue
      const candidates = this.#byPrefix.get(prefix)
      if (candidates) for (const pattern of candidates) take(pattern, at)
    }
  }
}

const isAt = (bytes: Buffer, at: number, wanted: Buffer): boolean =>
  at + wanted.length <= bytes.length && wanted.compare(bytes, at, at + wanted.length) === 0

const isCutAt = (bytes: Buffer, at: number, wanted: Buffer): boolean =>
  at + wanted.length > bytes.length && wanted.compare(bytes, at, bytes.length, 0, bytes.length - at) === 0

/** Where the last of the occurrences ends that overlap the one at `at`, directly or through others. */
function lastEnd(bytes: Buffer, at: number, wanted: Buffer): number {
  let last = at
  for (let next = last; ; last = next) {
    next = bytes.lastIndexOf(wanted, last + wanted.length - 1)
    if (next <= last) return last + wanted.length
  }
}
