/**
 * Reads text piece by piece, and records the furthest position reached and what would have been accepted there, for the message
 * of a rejection. Spaces between pieces and capitalisation do not matter.
 */
export class Reader {
  readonly text: string
  #position = 0
  #furthest = 0
  #expected = new Set<string>()
  #isQuiet = false

  constructor(text: string) {
    this.text = text
  }

  /** Takes a piece if it comes next. The pattern is sticky; `expectation` says it in words. */
  take(pattern: RegExp, expectation: string): RegExpExecArray | null {
    this.#skipSpaces()
    pattern.lastIndex = this.#position
    const match = pattern.exec(this.text)
    if (match === null) {
      this.#missed(expectation)
      return null
    }
    this.#position += match[0].length
    return match
  }

  /** Takes whole words in order, or none of them. */
  words(phrase: string): boolean {
    const before = this.#position
    for (const word of phrase.split(' ')) {
      if (this.take(patternOf(word), `"${phrase}"`) === null) {
        this.#position = before
        return false
      }
    }
    return true
  }

  /** Takes one of several words and returns it in lower case. */
  oneOf(words: readonly string[], expectation: string): string | null {
    const match = this.take(patternOf(words.join('|')), expectation)
    return match === null ? null : match[0].toLowerCase()
  }

  /** Returns the result of `read`; if it is null, resets the position. */
  attempt<T>(read: () => T | null): T | null {
    const before = this.#position
    const found = read()
    if (found === null) this.#position = before
    return found
  }

  /** Reads an accepted text that messages do not mention: they list the plain form, not each synonym. */
  quietly<T>(read: () => T): T {
    const before = this.#isQuiet
    this.#isQuiet = true
    const found = read()
    this.#isQuiet = before
    return found
  }

  /** Whether a phrase comes next. The position does not change. */
  sees(phrase: string): boolean {
    const before = this.#position
    const isThere = this.quietly(() => this.words(phrase))
    this.#position = before
    return isThere
  }

  get isAtEnd(): boolean {
    this.#skipSpaces()
    return this.#position === this.text.length
  }

  /** Records that something else would have been accepted here. */
  miss(expectation: string): null {
    this.#skipSpaces()
    this.#missed(expectation)
    return null
  }

  /** The furthest position that was reached, and what would have been accepted there. */
  get stop(): { readonly at: number; readonly expected: readonly string[] } {
    return { at: this.#furthest, expected: [...this.#expected] }
  }

  #missed(expectation: string): void {
    if (this.#position < this.#furthest) return
    if (this.#position > this.#furthest) this.#expected = new Set()
    this.#furthest = this.#position
    if (!this.#isQuiet) this.#expected.add(expectation)
  }

  #skipSpaces(): void {
    while (this.text[this.#position] === ' ') this.#position += 1
  }
}

/** Patterns by phrase. The grammar has about fifty; creating one costs more than using it. */
const patterns = new Map<string, RegExp>()

function patternOf(alternatives: string): RegExp {
  let pattern = patterns.get(alternatives)
  if (pattern === undefined) {
    pattern = new RegExp(`(?:${alternatives})(?![\\w/])`, 'iy')
    patterns.set(alternatives, pattern)
  }
  return pattern
}
