/** A line written by a handler, or a piece of a program's output, which has no level. */
export interface LogLine {
  readonly at: string
  readonly stream?: 'stdout' | 'stderr'
  readonly level: Level | null
  readonly message: string
}

/** Maximum number of characters of the logs of all attempts in memory; further lines are omitted. */
const MAX_MEMORY = 16 * 1024 * 1024
/** Overhead per line, in memory and in the limit of an attempt. */
const OVERHEAD = 64
/** Space reserved for a last line with the number of omitted lines. */
const LAST_LINE = 512
const MAX_LINE_CHARACTERS = 16_000
/** Severity of a handler's line. */
export type Level = 'debug' | 'info' | 'warn' | 'error'

const LEVELS: ReadonlySet<string> = new Set(['debug', 'info', 'warn', 'error'])

/** Memory used by the logs of all attempts of a worker. */
export interface LogMemory {
  characters: number
}

/** Limits of the log of an attempt. */
export interface RunLogOptions {
  /** Maximum size of the log of an attempt. */
  readonly maxBytes: number
  readonly memory: LogMemory
  /** Called when there is something to send. */
  onWritten(log: RunLog): void
}

/** Unconfirmed log lines of one attempt. Lines beyond the limit are only counted. */
export class RunLog {
  readonly runId: string
  readonly fence: number
  readonly #options: RunLogOptions
  #lines: LogLine[] = []
  /** Number of confirmed lines. */
  #first = 0
  #bytes = 0
  /** Size of the unconfirmed lines. */
  #characters = 0
  #omitted = 0
  #isOver = false

  constructor({ runId, fence }: { runId: string; fence: number }, options: RunLogOptions) {
    this.runId = runId
    this.fence = fence
    this.#options = options
  }

  /** Whether there are unconfirmed lines. */
  get isWaiting(): boolean {
    return this.#lines.length > 0
  }

  /** Whether the unconfirmed lines are within these numbers of lines and characters. */
  fits(lines: number, characters: number): boolean {
    return this.#lines.length <= lines && this.#characters <= characters
  }

  write(wanted: Level, message: string): void {
    // Belfry would reject any other value, together with the whole request.
    const level = LEVELS.has(wanted) ? wanted : 'info'
    const text = String(message)
    const kept = text.length > MAX_LINE_CHARACTERS ? `${text.slice(0, MAX_LINE_CHARACTERS - 1)}…` : text
    this.#take(kept, { level })
  }

  /** Adds output of a program, which can be a part of a line or several lines. */
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

  /** Returns the next lines to send, up to these numbers of lines and characters, and the number of lines before them. */
  next(most: number, characters: number): { first: number; lines: readonly LogLine[] } {
    let left = characters
    const end = this.#lines.findIndex((line, i) => {
      left -= sizeOf(line)
      return i >= most || (i > 0 && left < 0)
    })
    return { first: this.#first, lines: this.#lines.slice(0, end < 0 ? undefined : end) }
  }

  /** Removes the lines before `upTo`: Belfry has stored them or will never accept them. */
  confirm(upTo: number): void {
    const gone = this.#lines.splice(0, Math.max(0, upTo - this.#first))
    this.#first += gone.length
    for (const line of gone) this.#count(-sizeOf(line))
  }

  /** Ends the log. If lines were omitted, a last line says how many. */
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

  /** Ends the log and discards its lines. */
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
