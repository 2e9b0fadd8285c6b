/**
 * Converts the output of a program to text: bytes that arrive in pieces become characters that can be stored, with secret
 * values redacted, and line by line if lines end soon enough.
 */
import type { RedactingStream, Redactor } from '../core/secret/redactor.ts'

/** The beginning of a line waits this long for its end, and is then returned as it is. */
const LINE_WAIT_MS = 1_000
/** Maximum number of characters that wait for the end of a line. */
const MAX_LINE_WAITING = 16 * 1024

/** A piece of text, and when it was written. */
export interface TimedText {
  readonly at: number
  readonly text: string
}

export class StreamText {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  readonly #redacting: RedactingStream | null
  /** The beginning of a line, and when it was written. */
  #line = ''
  #lineAt = 0

  constructor(redactor: Redactor | null) {
    this.#redacting = redactor?.stream() ?? null
  }

  /** Whether anything waits for further output. */
  get isWaiting(): boolean {
    return this.#line !== '' || this.#redacting?.isWaiting === true
  }

  push(chunk: Buffer, at: number): TimedText | null {
    return this.#take(this.#redacting?.push(chunk) ?? chunk, at)
  }

  /** Returns text that need not wait any longer. */
  settle(now: number): TimedText | null {
    const settled = this.#redacting?.isWaiting ? this.#take(this.#redacting.settle(), now) : null
    if (settled || this.#line === '' || now - this.#lineAt < LINE_WAIT_MS) return settled
    return this.#takeLine()
  }

  /** Returns the rest. */
  end(now: number): TimedText | null {
    const rest = this.#redacting?.end() ?? Buffer.alloc(0)
    this.#add(`${this.#decoder.decode(rest, { stream: true })}${this.#decoder.decode()}`, now)
    return this.#line === '' ? null : this.#takeLine()
  }

  #take(bytes: Buffer, at: number): TimedText | null {
    if (bytes.length > 0) this.#add(this.#decoder.decode(bytes, { stream: true }), at)
    if (this.#line.length > MAX_LINE_WAITING) return this.#takeLine()
    const end = this.#line.lastIndexOf('\n') + 1
    if (end === 0) return null
    const text = this.#line.slice(0, end)
    const taken = { at: this.#lineAt, text }
    this.#line = this.#line.slice(end)
    this.#lineAt = at
    return taken
  }

  #add(text: string, at: number): void {
    if (this.#line === '') this.#lineAt = at
    this.#line += text.replaceAll('\0', '\ufffd')
  }

  #takeLine(): TimedText {
    const taken = { at: this.#lineAt, text: this.#line }
    this.#line = ''
    return taken
  }
}
