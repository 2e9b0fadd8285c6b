/** A line that a handler wrote, or a piece of what a program wrote, which has no level. */
export interface LogLine {
  readonly at: string
  readonly stream?: 'stdout' | 'stderr'
  readonly level: Level | null
  readonly message: string
}

/** What the logs of all attempts may take up in memory, in characters; what comes then is left out. */
const MAX_MEMORY = 16 * 1024 * 1024
/** What a line counts beyond its text, in memory and for the limit of an attempt. */
const OVERHEAD = 64
/** The limit leaves room for a last line that says what was left out. */
const LAST_LINE = 512
const MAX_LINE_CHARACTERS = 16_000
/** How important a line of a handler is. */
export type Level = 'debug' | 'info' | 'warn' | 'error'

const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])

/** What the logs of all attempts of a worker take up in memory. */
export interface LogMemory {
  characters: number
}

/** What the log of an attempt is bound by. */
export interface RunLogOptions {
  /** What Belfry keeps of the log of an attempt. */
  readonly maxBytes: number
  readonly memory: LogMemory
  /** There is something to send. */
  onWritten(log: RunLog): void
}

/** The lines of one attempt that Belfry has not confirmed yet. Beyond its limit, they are only counted. */
export class RunLog {
  readonly runId: string
  readonly fence: number
  readonly #options: RunLogOptions
  #lines: LogLine[] = []
  /** How many lines were confirmed. */
  #first = 0
  #bytes = 0
  /** Of the lines that were not confirmed. */
  #characters = 0
  #omitted = 0
  #isOver = false

  constructor({ runId, fence }: { runId: string; fence: number }, options: RunLogOptions) {
    this.runId = runId
    this.fence = fence
    this.#options = options
  }

  /** Whether lines were not confirmed. */
  get isWaiting(): boolean {
    return this.#lines.length > 0
  }

  /** Whether those fit into so many lines and characters. */
  fits(lines: number, characters: number): boolean {
    return this.#lines.length <= lines && this.#characters <= characters
  }

  write(wanted: Level, message: string): void {
    // Belfry would refuse another word, and all that is sent with it.
    const level = LEVELS.has(wanted) ? wanted : 'info'
    const text = String(message)
    const kept = text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS - 1)}…` : text
    this.#take(kept, { level })
  }

  /** Takes what a program wrote, which may be a part of a line or several. */
  writeOutput(stream: 'stdout' | 'stderr', text: string): void {
    for (let from = 0; from < text.length; from += MAX_LINE_CHARACTERS)
      this.#take(text.slice(from, from + MAX_LINE_CHARACTERS), { stream, level: null })
  }

  #take(kept: string, line: Pick<LogLine, 'stream' | 'level'>): void {
    if (this.#isOver) return
    const { maxBytes, memory, onWritten } = this.#options
    if (this.#omitted > 0 || memory.characters > MAX_MEMORY) {
      this.#omitted++
      return
    }
    const bytes = Buffer.byteLength(kept) + OVERHEAD
    if (this.#bytes + bytes > maxBytes - LAST_LINE) {
      this.#omitted++
      return
    }
    this.#bytes += bytes
    this.#add({ at: new Date().toISOString(), ...line, message: kept })
    onWritten(this)
  }

  /** The next lines to send, up to so many and so many characters, and how many came before them. */
  next(most: number, characters: number): { first: number; lines: readonly LogLine[] } {
    let left = characters
    const end = this.#lines.findIndex((line, i) => {
      left -= sizeOf(line)
      return i >= most || (i > 0 && left < 0)
    })
    return { first: this.#first, lines: this.#lines.slice(0, end < 0 ? undefined : end) }
  }

  /** Belfry has stored so many, or will never take them. */
  confirm(upTo: number): void {
    const gone = this.#lines.splice(0, Math.max(0, upTo - this.#first))
    this.#first += gone.length
    for (const line of gone) this.#count(-sizeOf(line))
  }

  /** Nothing more is written. The last line says how many were left out. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#omitted > 0)
      this.#add({
        at: new Date().toISOString(),
        level: 'warn',
        message: `… ${this.#omitted} more ${this.#omitted === 1 ? 'line' : 'lines'} omitted`,
      })
  }

  /** Nothing of it counts any more. */
  drop(): void {
    this.#isOver = true
    this.confirm(Number.POSITIVE_INFINITY)
  }

  #add(line: LogLine): void {
    this.#lines.push(line)
    this.#count(sizeOf(line))
  }

  #count(characters: number): void {
    this.#characters += characters
    this.#options.memory.characters += characters
  }
}

const sizeOf = ({ message }: LogLine) => message.length + OVERHEAD
