/**
 * Collects the part of a program's output that is stored with its run: the end of both streams, and the last line, which can
 * contain the output of the run: `::output {"rows": 17}`. All other output only goes to the log, so memory use is bounded.
 */
import { inexactWords } from '../core/values/json/exact-number.ts'
import { JsonScan } from '../core/values/json/json-scan.ts'
import { storableText } from '../core/values/kept-text.ts'

/** Number of bytes kept of each stream. */
export const TAIL_BYTES = 16 * 1024
/** Maximum length of a line that contains the output of a run. */
export const MAX_OUTPUT_LINE_BYTES = 64 * 1024
const MARK = '::output'

const LINE_FEED = 0x0a
const BLANKS = Buffer.from(' \t\r\n')

/** Output of a run without an output line. `note` says why an output line was ignored. */
export interface PlainOutput {
  readonly exitCode: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
  /** Whether more was written than is kept. */
  readonly truncated: boolean
  readonly note?: string
}

/** The last bytes of a stream. */
class Tail {
  #pieces: Buffer[] = []
  #bytes = 0
  isCut = false

  push(chunk: Buffer): void {
    this.#pieces.push(chunk)
    this.#bytes += chunk.length
    if (this.#bytes > 2 * TAIL_BYTES) this.#shorten()
  }

  get text(): string {
    this.#shorten()
    const [kept = Buffer.alloc(0)] = this.#pieces
    return storableText(kept.subarray(this.isCut ? insideOfCharacter(kept) : 0).toString('utf8'))
  }

  #shorten(): void {
    const all = Buffer.concat(this.#pieces)
    if (all.length > TAIL_BYTES) this.isCut = true
    // A copy: a slice would keep the whole buffer in memory.
    const kept = all.length > TAIL_BYTES ? Buffer.from(all.subarray(-TAIL_BYTES)) : all
    this.#pieces = [kept]
    this.#bytes = kept.length
  }
}

/** Returns how many bytes at the beginning continue a character that was cut off. */
function insideOfCharacter(bytes: Buffer): number {
  let count = 0
  while (count < 3 && ((bytes[count] ?? 0) & 0xc0) === 0x80) count += 1
  return count
}

/** A line, up to the maximum length of an output line. */
class Line {
  #text = Buffer.alloc(0)
  #bytes = 0

  add(part: Buffer): this {
    this.#bytes += part.length
    const room = MAX_OUTPUT_LINE_BYTES - this.#text.length
    if (room > 0 && part.length > 0) this.#text = Buffer.concat([this.#text, part.subarray(0, room)])
    return this
  }

  get isBlank(): boolean {
    return this.#bytes === this.#text.length && this.#text.toString('latin1').trim() === ''
  }

  get isTooLong(): boolean {
    return this.#bytes > this.#text.length
  }

  get text(): string {
    return this.#text.toString('utf8').trim()
  }
}

/** Keeps the last line that is not blank. */
class LastLine {
  #current = new Line()
  #last: Line | null = null

  push(chunk: Buffer): void {
    const end = chunk.lastIndexOf(LINE_FEED)
    if (end === -1) {
      this.#current.add(chunk)
      return
    }
    const lines = chunk.subarray(0, endOfText(chunk, end))
    const start = lines.lastIndexOf(LINE_FEED) + 1
    const line = start === 0 ? this.#current.add(lines) : new Line().add(lines.subarray(start))
    if (!line.isBlank) this.#last = line
    this.#current = new Line().add(chunk.subarray(end + 1))
  }

  get line(): Line | null {
    return this.#current.isBlank ? this.#last : this.#current
  }
}

/** Returns the end of the text before a position, without trailing blanks and line breaks. */
function endOfText(chunk: Buffer, before: number): number {
  let end = before
  while (end > 0 && BLANKS.includes(chunk[end - 1] ?? 0)) end -= 1
  return end
}

/** The output of one program. */
export class ProgramOutput {
  readonly #tails = { stdout: new Tail(), stderr: new Tail() }
  readonly #lastLine = new LastLine()

  push(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#tails[stream].push(chunk)
    if (stream === 'stdout') this.#lastLine.push(chunk)
  }

  /** The last line of standard error; empty if there is none. */
  get lastError(): string {
    return this.#tails.stderr.text.trimEnd().split('\n').at(-1)?.trim() ?? ''
  }

  /** Returns the output of the run: the value of the output line, else how the program ended and what it wrote. */
  end({ exitCode, signal }: { readonly exitCode: number | null; readonly signal: string | null }): unknown {
    const said = outputOf(this.#lastLine.line)
    if (said !== null && 'value' in said) return said.value
    const { stdout, stderr } = this.#tails
    const plain: PlainOutput = {
      exitCode,
      signal,
      stdout: stdout.text,
      stderr: stderr.text,
      truncated: stdout.isCut || stderr.isCut,
    }
    return said === null ? plain : { ...plain, note: said.note }
  }
}

/** Parses an output line: returns its value, or why it is invalid; null for any other line. */
function outputOf(line: Line | null): { readonly value: unknown } | { readonly note: string } | null {
  const [, json] = /^::output(?:\s+(.*))?$/s.exec(line?.text ?? '') ?? []
  if (line === null || !line.text.startsWith(MARK) || (json === undefined && line.text !== MARK)) return null
  if (line.isTooLong)
    return {
      note: `The last line begins with ${MARK} but is longer than ${MAX_OUTPUT_LINE_BYTES} bytes, so it was ignored.`,
    }
  const flaw = flawOf(json ?? '')
  if (flaw !== null)
    return { note: `The last line begins with ${MARK}, but its JSON ${flaw}, so it was ignored.` }
  try {
    const value: unknown = JSON.parse(json ?? '')
    return { value }
  } catch (error) {
    return {
      note: `The last line begins with ${MARK} but is not followed by valid JSON: ${(error as Error).message}`,
    }
  }
}

/** The same limits as for the bodies of requests. */
const BOUNDS = { depth: 64, values: 20_000 } as const

/** Returns why the JSON cannot be stored; null if it can, or if it is not JSON. */
function flawOf(json: string): string | null {
  const scan = new JsonScan(Buffer.from(json), BOUNDS)
  while (!scan.step(MAX_OUTPUT_LINE_BYTES));
  if (scan.flaw === null) return null
  switch (scan.flaw.kind) {
    case 'depth':
      return `is nested deeper than ${BOUNDS.depth} levels`
    case 'values':
      return `contains more than ${BOUNDS.values} values`
    case 'number':
      return inexactWords(scan.flaw.literal ?? '')
    default:
      return 'contains a NUL character or an unpaired surrogate, which cannot be stored'
  }
}
