/**
 * Redacts the values of secrets in everything that an attempt records: `[secret NAME]` replaces them. A value is found in its
 * plain form, in base64 at any position, in hexadecimal, and with any of its characters escaped as in a URL or in a JSON
 * string, or in one inside the other. If the text was cut within a value, the beginning of the value is redacted as well.
 */

/** Shorter values are not redacted, because they would be found everywhere. */
export const MIN_CHARACTERS = 6

/** A byte sequence to find, and the secret that it belongs to. */
interface Pattern {
  readonly name: string
  readonly bytes: Buffer
}

/** A range of the text to remove. */
interface Found {
  /** Name of the secret that replaces the range; null if nothing replaces it. */
  readonly name: string | null
  readonly start: number
  readonly end: number
}

export type NamedValue = readonly [name: string, value: string]

export class Redactor {
  readonly #patterns: readonly Pattern[]
  /** Maximum number of bytes of a value in any form. */
  readonly longest: number

  constructor(secrets: Iterable<NamedValue>) {
    const patterns = [...secrets].flatMap(([name, value]) => patternsOf(name, value))
    this.#patterns = patterns.sort((a, b) => b.bytes.length - a.bytes.length)
    this.longest = (this.#patterns[0]?.bytes.length ?? 0) * MAX_GROWTH
  }

  text(text: string): string {
    if (text.length < MIN_CHARACTERS || this.#patterns.length === 0) return text
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
    return readingsOf(bytes).flatMap((reading) =>
      this.#patterns.flatMap((pattern) => occurrences(reading, pattern)),
    )
  }

  /** Returns the index at which an incomplete value or escape may begin; the length of the text if there is none. */
  findBegun(bytes: Buffer): number {
    const places = readingsOf(bytes).map((reading) => {
      const certain = reading.bytes.subarray(0, beforeBegunEscape(reading.bytes))
      const longest = Math.max(0, ...this.#patterns.map((pattern) => endingPart(certain, pattern.bytes)))
      return placeOf(reading, certain.length - longest)
    })
    return Math.min(bytes.length, ...places)
  }

  /** Finds the beginnings of values that the end of the text cuts off. */
  findCut(bytes: Buffer, least: (pattern: Buffer) => number = () => MIN_CHARACTERS): Found[] {
    return readingsOf(bytes).flatMap((reading) =>
      this.#patterns.flatMap((pattern) => beginningAtEnd(reading, pattern, least(pattern.bytes))),
    )
  }

  /** Finds the ends of values that the start of the text cuts off. */
  #findRest(bytes: Buffer): Found[] {
    return readingsOf(bytes).flatMap((reading) =>
      this.#patterns.flatMap((pattern) => restAtStart(reading, pattern, halfOf(pattern.bytes))),
    )
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
    const begun = this.#redactor.findBegun(kept)
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

/** A byte is at most an escape of six characters, each of them percent-encoded. */
const MAX_GROWTH = 18

/** Maximum length of an escape: the two halves of a surrogate pair in JSON, each percent-encoded. */
const MAX_ESCAPE = 36
const BACKSLASH = 0x5c
const PERCENT = 0x25
const PLUS = 0x2b
const SPACE = 0x20

/** The nearest place at or before `cut` that is not inside of an escape. */
function beforeEscape(bytes: Buffer, cut: number): number {
  let at = cut
  for (let i = at - 1; i >= 0 && i >= at - MAX_ESCAPE; i--)
    if (bytes[i] === BACKSLASH || bytes[i] === PERCENT) at = i
  return at
}

function patternsOf(name: string, value: string): Pattern[] {
  const whole = Buffer.from(value)
  // A value with several lines may be written line by line.
  const lines = /[\r\n]/.test(value) ? value.split(/[\r\n]+/).map((line) => line.trim()) : []
  const texts = [value, ...lines].filter((text) => text.length >= MIN_CHARACTERS)
  if (value.length < MIN_CHARACTERS) return []
  const forms = [
    ...texts.map((text) => Buffer.from(text)),
    Buffer.from(whole.toString('hex')),
    Buffer.from(whole.toString('hex').toUpperCase()),
    ...base64Forms(whole).map((form) => Buffer.from(form)),
  ]
  const distinct = new Map(forms.map((bytes) => [bytes.toString('latin1'), bytes]))
  return [...distinct.values()].map((bytes) => ({ name, bytes }))
}

/** Base64 encodes three bytes as four characters, so the form of a value depends on its position modulo three. */
function base64Forms(value: Buffer): string[] {
  return [0, 1, 2].flatMap((offset) => {
    const encoded = Buffer.concat([Buffer.alloc(offset), value]).toString('base64')
    const begin = Math.ceil((offset * 8) / 6)
    // The last character depends on the following byte, unless the value is at the end.
    const certain = Math.floor(((offset + value.length) * 8) / 6)
    const forms = [
      encoded.slice(begin, certain),
      encoded.slice(begin),
      encoded.slice(begin).replace(/=+$/, ''),
    ]
    return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')])
  })
}

/** The text with its escapes decoded, and where each byte begins in the original text. */
interface Reading {
  readonly bytes: Buffer
  /** Has one more entry than there are bytes; null if nothing was decoded. */
  readonly starts: Int32Array | null
}

function readingsOf(bytes: Buffer): Reading[] {
  const plain: Reading = { bytes, starts: null }
  const readings = [plain]
  const first = [unescapedUrl(plain, false), unescapedJson(plain)]
  for (const reading of first) {
    if (!reading) continue
    readings.push(reading)
    for (const second of [unescapedUrl(reading, false), unescapedJson(reading)])
      if (second) readings.push(second)
  }
  const form = unescapedUrl(plain, true)
  if (form) readings.push(form)
  return readings
}

/** Decodes percent escapes; in forms, a plus sign is also a space. Undefined if there is nothing to decode. */
function unescapedUrl({ bytes, starts }: Reading, isForm: boolean): Reading | undefined {
  if (!bytes.includes(isForm ? PLUS : PERCENT)) return undefined
  const out = new Builder(bytes.length, starts)
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i] as number
    const decoded = byte === PERCENT ? hexAt(bytes, i + 1, 2) : undefined
    out.add(decoded ?? (isForm && byte === PLUS ? SPACE : byte), i)
    i += decoded === undefined ? 1 : 3
  }
  return out.end(bytes.length)
}

const JSON_ESCAPES: Readonly<Record<string, number>> = {
  b: 8,
  t: 9,
  n: 10,
  f: 12,
  r: 13,
  '"': 34,
  '/': 47,
  '\\': 92,
}
const UNICODE_ESCAPE = 6

function unescapedJson({ bytes, starts }: Reading): Reading | undefined {
  if (!bytes.includes(BACKSLASH)) return undefined
  const out = new Builder(bytes.length, starts)
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i] as number
    const unit = byte === BACKSLASH ? unicodeAt(bytes, i) : undefined
    if (unit !== undefined) {
      const low = unicodeAt(bytes, i + UNICODE_ESCAPE)
      const isPair = isHigh(unit) && low !== undefined && isLow(low)
      const text = isPair ? String.fromCharCode(unit, low) : String.fromCharCode(unit)
      for (const each of Buffer.from(text)) out.add(each, i)
      i += isPair ? 2 * UNICODE_ESCAPE : UNICODE_ESCAPE
      continue
    }
    const next = byte === BACKSLASH ? JSON_ESCAPES[String.fromCharCode(bytes[i + 1] ?? 0)] : undefined
    out.add(next ?? byte, i)
    i += next === undefined ? 1 : 2
  }
  return out.end(bytes.length)
}

const isHigh = (unit: number) => unit >= 0xd800 && unit < 0xdc00
const isLow = (unit: number) => unit >= 0xdc00 && unit < 0xe000

/** The code unit of `\uXXXX`. */
const unicodeAt = (bytes: Buffer, at: number): number | undefined =>
  bytes[at] === BACKSLASH && bytes[at + 1] === 0x75 ? hexAt(bytes, at + 2, 4) : undefined

function hexAt(bytes: Buffer, at: number, digits: number): number | undefined {
  if (at + digits > bytes.length) return undefined
  let number = 0
  for (let i = at; i < at + digits; i++) {
    const digit = hexDigit(bytes[i] as number)
    if (digit === undefined) return undefined
    number = number * 16 + digit
  }
  return number
}

function hexDigit(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : undefined
}

/** Collects decoded bytes and their original positions. Decoding never makes text longer. */
class Builder {
  readonly #bytes: Buffer
  readonly #starts: Int32Array
  readonly #before: Int32Array | null
  #length = 0

  constructor(most: number, before: Int32Array | null) {
    this.#bytes = Buffer.alloc(most)
    this.#starts = new Int32Array(most + 1)
    this.#before = before
  }

  add(byte: number, from: number): void {
    this.#bytes[this.#length] = byte
    this.#starts[this.#length++] = this.#before ? (this.#before[from] as number) : from
  }

  end(from: number): Reading {
    this.#starts[this.#length] = this.#before ? (this.#before[from] as number) : from
    return { bytes: this.#bytes.subarray(0, this.#length), starts: this.#starts }
  }
}

const placeOf = ({ starts }: Reading, at: number): number => (starts ? (starts[at] as number) : at)

/** Every occurrence of the pattern. Overlapping ones are combined and skipped together. */
function occurrences(reading: Reading, { name, bytes: wanted }: Pattern): Found[] {
  const { bytes } = reading
  const found: Found[] = []
  for (let at = bytes.indexOf(wanted); at >= 0; ) {
    let last = at
    for (let next = last; ; last = next) {
      next = bytes.lastIndexOf(wanted, last + wanted.length - 1)
      if (next <= last) break
    }
    const end = last + wanted.length
    found.push({ name, start: placeOf(reading, at), end: placeOf(reading, end) })
    at = bytes.indexOf(wanted, end)
  }
  return found
}

/** Number of bytes at the end of the text that are the beginning of the wanted bytes. */
function endingPart(bytes: Buffer, wanted: Buffer): number {
  for (let length = Math.min(wanted.length - 1, bytes.length); length > 0; length--) {
    const at = bytes.length - length
    if (bytes[at] === wanted[0] && wanted.compare(bytes, at, bytes.length, 0, length) === 0) return length
  }
  return 0
}

/** An incomplete escape at the end of a text, or the first half of a surrogate pair. */
const BEGUN_ESCAPE = /(?:%[0-9a-f]?|\\+(?:u[0-9a-f]{0,3}|ud[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?)?)$/i

/** Index at which an incomplete escape begins, which may be inside another escape; the length of the text if there is none. */
function beforeBegunEscape(bytes: Buffer): number {
  let end = bytes.length
  for (let length = -1; length !== 0; end -= length)
    length = BEGUN_ESCAPE.exec(bytes.toString('latin1', Math.max(0, end - MAX_ESCAPE), end))?.[0].length ?? 0
  return end
}

function beginningAtEnd(reading: Reading, { name, bytes: wanted }: Pattern, least: number): Found[] {
  const { bytes } = reading
  for (let length = Math.min(wanted.length - 1, bytes.length); length >= least; length--) {
    const at = bytes.length - length
    if (bytes[at] !== wanted[0] || wanted.compare(bytes, at, bytes.length, 0, length) !== 0) continue
    return [{ name, start: placeOf(reading, at), end: placeOf(reading, bytes.length) }]
  }
  return []
}

function restAtStart(reading: Reading, { name, bytes: wanted }: Pattern, least: number): Found[] {
  const { bytes } = reading
  for (let length = Math.min(wanted.length - 1, bytes.length); length >= least; length--)
    if (wanted.compare(bytes, 0, length, wanted.length - length) === 0)
      return [{ name, start: 0, end: placeOf(reading, length) }]
  return []
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
