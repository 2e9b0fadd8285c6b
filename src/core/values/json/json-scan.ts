/**
 * Scans JSON text before it is parsed, in pieces: its depth, the number of its values, and whether all of them can be stored
 * unchanged. Parsing costs time and memory for each value, so the scan rejects excessive input first. Malformed JSON is left to
 * the parser, which reports what is wrong with it. The bytes must be valid UTF-8.
 */
import { ALWAYS_KEPT_CHARACTERS, isKeptExactly } from './exact-number.ts'

/** The limits on the text. */
export interface ScanBounds {
  readonly depth: number
  /** Maximum number of values in the whole text, or, if there is a list, in each of its items. */
  readonly values: number
  /** The member of the outermost object that is a list to split into its items. */
  readonly list?: ListBounds
}

/** The list to split, and its limits. */
export interface ListBounds {
  readonly name: string
  readonly items: number
  readonly itemBytes: number
  /** Maximum size of the text without the list. */
  readonly otherBytes: number
}

export type FlawKind = 'depth' | 'values' | 'number' | 'text' | 'name' | 'items' | 'itemBytes' | 'otherBytes'

/** What is wrong, and where. */
export interface Flaw {
  readonly kind: FlawKind
  readonly path: readonly (string | number)[]
  /** The number, if the flaw is a number. */
  readonly literal?: string
}

/** The range of the list without its brackets, and the end of each item. */
export interface ListPlace {
  readonly start: number
  end: number
  readonly ends: number[]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const OPEN_LIST = 0x5b
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COLON = 0x3a
const SPACE = 0x20
const MINUS = 0x2d
const ZERO = 0x30
const NINE = 0x39
const SMALL_U = 0x75

export class JsonScan {
  readonly #bytes: Uint8Array
  readonly #bounds: ScanBounds
  readonly #isObject: Uint8Array
  /** For each open list, the index of the current item; for each open object, the offset of the current member's name. */
  readonly #places: Int32Array
  #at = 0
  #depth = 0
  #values = 0
  #awaitsName = false
  #flaw: Flaw | null = null
  #list: ListPlace | null = null
  #isInList = false
  /** Maximum offset for the current part of the text: an item, or the text outside the list. */
  #boundary: number
  #leftBeside = 0

  constructor(bytes: Uint8Array, bounds: ScanBounds) {
    this.#bytes = bytes
    this.#bounds = bounds
    this.#isObject = new Uint8Array(bounds.depth + 1)
    this.#places = new Int32Array(bounds.depth + 1)
    this.#boundary = bounds.list?.otherBytes ?? Number.POSITIVE_INFINITY
  }

  /** The first flaw in the scanned part of the text; null if there is none. */
  get flaw(): Flaw | null {
    return this.#flaw
  }

  /** The list that was to be split; null if the text has none. */
  get list(): ListPlace | null {
    return this.#list
  }

  /** Scans the given number of bytes, and the rest of a string that continues beyond them. Returns whether the scan is finished. */
  step(bytes: number): boolean {
    const until = Math.min(this.#at + bytes, this.#bytes.length)
    while (this.#at < until && this.#flaw === null) {
      this.#look(this.#bytes[this.#at] as number)
      if (this.#at > this.#boundary) this.#refuseSize()
    }
    return this.#flaw !== null || this.#at >= this.#bytes.length
  }

  #look(byte: number): void {
    if (byte <= SPACE || byte === COLON) this.#at += 1
    else if (byte === QUOTE) this.#string()
    else if (byte === COMMA) this.#comma()
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) this.#open(byte === OPEN_OBJECT)
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) this.#close()
    else this.#word(byte)
  }

  #open(isObject: boolean): void {
    if (this.#depth === this.#bounds.depth) return void this.#refuse('depth')
    this.#count()
    if (this.#flaw !== null) return
    const isTheList = !isObject && this.#depth === 1 && this.#isNamedAsList()
    this.#depth += 1
    this.#isObject[this.#depth] = isObject ? 1 : 0
    this.#places[this.#depth] = 0
    this.#awaitsName = isObject
    this.#at += 1
    if (!isTheList) return
    this.#isInList = true
    this.#values = 0
    this.#list = { start: this.#at, end: this.#at, ends: [] }
    this.#leftBeside = this.#boundary - this.#at
    this.#boundary = this.#at + (this.#bounds.list?.itemBytes ?? 0)
  }

  #close(): void {
    if (this.#isInList && this.#depth === 2) {
      this.#endItem()
      this.#isInList = false
      this.#boundary = this.#at + this.#leftBeside
    }
    if (this.#depth > 0) this.#depth -= 1
    this.#awaitsName = false
    this.#at += 1
  }

  #comma(): void {
    if (this.#isInList && this.#depth === 2) this.#endItem()
    this.#awaitsName = this.#isObject[this.#depth] === 1
    if (!this.#awaitsName) this.#places[this.#depth] = (this.#places[this.#depth] ?? 0) + 1
    this.#at += 1
  }

  #endItem(): void {
    const { list } = this.#bounds
    const place = this.#list
    if (!list || !place) return
    const isEmptyList = place.ends.length === 0 && this.#values === 0 && this.#bytes[this.#at] === CLOSE_LIST
    place.end = this.#at
    if (isEmptyList) return
    if (place.ends.length === list.items) return void this.#refuse('items', this.#path(1))
    place.ends.push(this.#at)
    this.#values = 0
    this.#boundary = this.#at + 1 + list.itemBytes
  }

  #refuseSize(): void {
    if (this.#isInList) this.#refuse('itemBytes', this.#path(2))
    else this.#refuse('otherBytes', [])
  }

  #isNamedAsList(): boolean {
    const { list } = this.#bounds
    return list !== undefined && this.#isObject[1] === 1 && this.#nameAt(this.#places[1] ?? 0) === list.name
  }

  #string(): void {
    const bytes = this.#bytes
    const start = this.#at
    let at = start + 1
    let isSound = true
    const end = Math.min(bytes.length, this.#boundary + 1)
    for (let byte = bytes[at]; at < end && byte !== QUOTE; byte = bytes[at]) {
      if (byte !== BACKSLASH) at += 1
      else if (bytes[at + 1] !== SMALL_U) at += 2
      else {
        const length = this.#soundEscape(at)
        if (length === 0) isSound = false
        at += length || 6
      }
    }
    this.#at = at + 1
    if (this.#awaitsName) {
      this.#awaitsName = false
      if (!isSound) this.#refuse('name', this.#path(this.#depth - 1))
      this.#places[this.#depth] = start
    } else if (isSound) this.#count()
    else this.#refuse('text')
  }

  /** Length of an escaped character in bytes; 0 if it is NUL or an unpaired surrogate, which cannot be stored. */
  #soundEscape(at: number): number {
    const code = this.#escaped(at)
    if (code === 0 || (code >= 0xdc00 && code <= 0xdfff)) return 0
    if (code < 0xd800 || code > 0xdbff) return 6
    const low =
      this.#bytes[at + 6] === BACKSLASH && this.#bytes[at + 7] === SMALL_U ? this.#escaped(at + 6) : 0
    return low >= 0xdc00 && low <= 0xdfff ? 12 : 0
  }

  /** The code unit of `\uXXXX`; −1 if the escape is not valid. */
  #escaped(at: number): number {
    let code = 0
    for (let i = at + 2; i < at + 6; i += 1) {
      const digit = hexDigit(this.#bytes[i] ?? 0)
      if (digit < 0) return -1
      code = code * 16 + digit
    }
    return code
  }

  /** A number, true, false, null, or malformed JSON. */
  #word(first: number): void {
    const start = this.#at
    let at = start + 1
    let hasExponent = false
    for (let byte = bytesAt(this.#bytes, at); isWordByte(byte); byte = bytesAt(this.#bytes, at)) {
      if ((byte | SPACE) === 0x65) hasExponent = true
      at += 1
    }
    this.#at = at
    const isNumber = first === MINUS || (first >= ZERO && first <= NINE)
    if (isNumber && (hasExponent || at - start > ALWAYS_KEPT_CHARACTERS)) {
      const literal = String.fromCharCode(...this.#bytes.subarray(start, Math.min(at, start + MAX_DIGITS)))
      if (at - start > MAX_DIGITS || !isKeptExactly(literal))
        return void this.#refuse('number', undefined, literal)
    }
    this.#count()
  }

  #count(): void {
    this.#values += 1
    if (this.#values > this.#bounds.values) this.#refuse('values', this.#isInList ? this.#path(2) : [])
  }

  #refuse(kind: FlawKind, path = this.#path(this.#depth), literal?: string): void {
    this.#flaw ??= literal === undefined ? { kind, path } : { kind, path, literal }
  }

  #path(depth: number): (string | number)[] {
    return Array.from({ length: Math.max(depth, 0) }, (_, i) => {
      const place = this.#places[i + 1] ?? 0
      return this.#isObject[i + 1] === 1 ? this.#nameAt(place) : place
    })
  }

  /** The name of a member that begins at an opening quote; the raw text if it cannot be decoded. */
  #nameAt(start: number): string {
    let end = start + 1
    while (end < this.#bytes.length && this.#bytes[end] !== QUOTE)
      end += this.#bytes[end] === BACKSLASH ? 2 : 1
    const quoted = new TextDecoder().decode(this.#bytes.subarray(start, end + 1))
    try {
      return String(JSON.parse(quoted))
    } catch {
      return quoted.slice(1, -1)
    }
  }
}

/** Maximum number of digits to examine; no real number has more. */
const MAX_DIGITS = 1_000

const bytesAt = (bytes: Uint8Array, at: number): number => bytes[at] ?? SPACE

/** Whether a byte is part of a word: neither a separator nor the beginning of another value. */
const isWordByte = (byte: number): boolean =>
  byte > SPACE &&
  byte !== COMMA &&
  byte !== CLOSE_LIST &&
  byte !== CLOSE_OBJECT &&
  byte !== COLON &&
  byte !== QUOTE &&
  byte !== OPEN_LIST &&
  byte !== OPEN_OBJECT

function hexDigit(byte: number): number {
  if (byte >= ZERO && byte <= NINE) return byte - ZERO
  const letter = byte | SPACE
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}
