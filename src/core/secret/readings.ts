/**
 * The ways in which a text can be read when it is searched for the value of a secret: as it is, with its escapes decoded, and
 * without the whitespace that encoders insert.
 */

/** A text to search, and where each of its bytes is in the original text. */
export interface Reading {
  readonly bytes: Buffer
  /** Where a range that begins at a byte begins in the original text. */
  startOf(at: number): number
  /** Where a range that ends before a byte ends in the original text. */
  endOf(at: number): number
}

/**
 * Maximum number of bytes of a byte of a value: two hexadecimal digits, each an escape of six percent-encoded characters. A
 * percent-encoded HTML entity is shorter.
 */
export const MAX_GROWTH = 36

/** Maximum length of an escape: the two halves of a surrogate pair in JSON, each percent-encoded. */
const MAX_ESCAPE = 36
const AMPERSAND = 0x26
const BACKSLASH = 0x5c
const PERCENT = 0x25
const PLUS = 0x2b
const SPACE = 0x20

/** The text as it is, and after decoding its escapes as in URLs, forms, JSON and HTML, also if one is inside the other. */
export function readingsOf(bytes: Buffer): Reading[] {
  const plain: Reading = { bytes, startOf: itself, endOf: itself }
  const first = unescaped(plain)
  const readings = [plain, ...first, ...first.flatMap(unescaped)]
  const form = unescapedUrl(plain, true)
  if (form) readings.push(form)
  return readings
}

const unescaped = (reading: Reading): Reading[] =>
  [unescapedUrl(reading, false), unescapedJson(reading), unescapedHtml(reading)].filter(
    (each) => each !== undefined,
  )

const itself = (at: number) => at

/** The beginning of a reading. */
export const beginningOf = ({ bytes, startOf, endOf }: Reading, length: number): Reading => ({
  bytes: bytes.subarray(0, length),
  startOf,
  endOf,
})

const MINUS = 0x2d
const UNDERSCORE = 0x5f
const SLASH = 0x2f

/**
 * A reading as base64 or hexadecimal digits: without the whitespace between them, since encoders break lines, and with the
 * digits `-` and `_` of base64 for URLs in their other form.
 */
export function digitsOf({ bytes, startOf, endOf }: Reading): Reading {
  const digits = Buffer.alloc(bytes.length)
  const places = new Int32Array(bytes.length)
  let length = 0
  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    if (byte === SPACE || (byte >= 9 && byte <= 13)) continue
    digits[length] = byte === MINUS ? PLUS : byte === UNDERSCORE ? SLASH : byte
    places[length++] = i
  }
  return {
    bytes: digits.subarray(0, length),
    startOf: (at) => startOf(at < length ? (places[at] as number) : bytes.length),
    endOf: (at) => (at === 0 ? startOf(0) : endOf((places[at - 1] as number) + 1)),
  }
}

/** Decodes percent escapes; in forms, a plus sign is also a space. Undefined if there is nothing to decode. */
function unescapedUrl(reading: Reading, isForm: boolean): Reading | undefined {
  const { bytes } = reading
  if (!bytes.includes(isForm ? PLUS : PERCENT)) return undefined
  const out = new Builder(reading)
  for (let i = 0; i < bytes.length; ) {
    const byte = bytes[i] as number
    const decoded = byte === PERCENT ? hexAt(bytes, i + 1, 2) : undefined
    out.add(decoded ?? (isForm && byte === PLUS ? SPACE : byte), i)
    i += decoded === undefined ? 1 : 3
  }
  return out.end()
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

function unescapedJson(reading: Reading): Reading | undefined {
  const { bytes } = reading
  if (!bytes.includes(BACKSLASH)) return undefined
  const out = new Builder(reading)
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
  return out.end()
}

/** The entities that are written for characters with a meaning in HTML. */
const ENTITIES: Readonly<Record<string, number>> = { amp: 38, lt: 60, gt: 62, quot: 34, apos: 39 }
const ENTITY = /^&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#x([\da-f]{1,6}));/i
/** Length of `&#x10ffff;`. Encoders write no longer entities, although HTML allows any number of zeros. */
const MAX_ENTITY = 10
const MAX_CODE_POINT = 0x10ffff

/** Decodes HTML entities. Undefined if there are none, as in most texts that contain `&`. */
function unescapedHtml(reading: Reading): Reading | undefined {
  const { bytes } = reading
  let next = entityFrom(bytes, 0)
  if (next === undefined) return undefined
  const out = new Builder(reading)
  for (let i = 0; i < bytes.length; )
    if (next !== undefined && i === next.at) {
      for (const each of Buffer.from(next.character)) out.add(each, i)
      i += next.length
      next = entityFrom(bytes, i)
    } else out.add(bytes[i] as number, i++)
  return out.end()
}

/** The first entity at or after an index. */
function entityFrom(
  bytes: Buffer,
  from: number,
): { readonly at: number; readonly length: number; readonly character: string } | undefined {
  for (let at = bytes.indexOf(AMPERSAND, from); at >= 0; at = bytes.indexOf(AMPERSAND, at + 1)) {
    if (!isEntityBegun(bytes, at)) continue
    const [text, name, decimal, hex] = ENTITY.exec(bytes.toString('latin1', at, at + MAX_ENTITY)) ?? []
    if (text === undefined) continue
    const code = name
      ? ENTITIES[name.toLowerCase()]
      : decimal
        ? Number(decimal)
        : Number.parseInt(hex ?? '', 16)
    if (code !== undefined && code <= MAX_CODE_POINT)
      return { at, length: text.length, character: String.fromCodePoint(code) }
  }
  return undefined
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
  readonly #from: Reading
  readonly #bytes: Buffer
  readonly #starts: Int32Array
  #length = 0

  constructor(from: Reading) {
    this.#from = from
    this.#bytes = Buffer.alloc(from.bytes.length)
    this.#starts = new Int32Array(from.bytes.length + 1)
  }

  add(byte: number, from: number): void {
    this.#bytes[this.#length] = byte
    this.#starts[this.#length++] = this.#from.startOf(from)
  }

  end(): Reading {
    this.#starts[this.#length] = this.#from.startOf(this.#from.bytes.length)
    const place = (at: number) => this.#starts[at] as number
    return { bytes: this.#bytes.subarray(0, this.#length), startOf: place, endOf: place }
  }
}

/**
 * The nearest place at or before `cut` that is not inside of an escape. An entity contains no other `&`, so only those near the
 * cut matter; HTML is often so full of them that one would follow another up to the start of the text.
 */
export function beforeEscape(bytes: Buffer, cut: number): number {
  let at = cut
  for (let i = at - 1; i >= 0 && i >= at - MAX_ESCAPE; i--) {
    const isNear = i >= cut - MAX_ESCAPE
    if (bytes[i] === BACKSLASH || bytes[i] === PERCENT || (isNear && isEntityBegun(bytes, i))) at = i
  }
  return at
}

/** Whether an entity may begin here. Most `&` separate the fields of a form, where the text need not be kept together. */
const isEntityBegun = (bytes: Buffer, at: number): boolean =>
  bytes[at] === AMPERSAND &&
  (at + 1 === bytes.length || '#alqgALQG'.includes(String.fromCharCode(bytes[at + 1] as number)))

/** An incomplete escape at the end of a text, or the first half of a surrogate pair. */
const BEGUN_ESCAPE = new RegExp(
  [
    /%[0-9a-f]?/,
    /\\+(?:u[0-9a-f]{0,3}|ud[89ab][0-9a-f]{2}(?:\\(?:u[0-9a-f]{0,3})?)?)?/,
    /&(?:#\d{0,7}|#x[0-9a-f]{0,6}|am?p?|ap?o?s?|[lg]t?|qu?o?t?)?/,
  ]
    .map(({ source }) => `(?:${source})$`)
    .join('|'),
  'i',
)

/** Maximum number of incomplete escapes inside one another: no more levels are decoded. */
const MAX_BEGUN = 3

/** Index at which an incomplete escape begins, which may be inside another escape; the length of the text if there is none. */
export function beforeBegunEscape(bytes: Buffer): number {
  let end = bytes.length
  for (let level = 0, length = -1; length !== 0 && level < MAX_BEGUN; level++, end -= length)
    length = BEGUN_ESCAPE.exec(bytes.toString('latin1', Math.max(0, end - MAX_ESCAPE), end))?.[0].length ?? 0
  return end
}
