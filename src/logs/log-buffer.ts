/** The log entries of one attempt that are not stored yet, within the size limit of the attempt. */
import type { LogEntry } from '../core/run/log-entry.ts'
import { type LogRow, OMITTED_SEQ } from '../store/logs/append.ts'
import type { LoggedAttempt } from './run-log.ts'

/** Maximum number of bytes of text in a row. */
export const MAX_ROW_BYTES = 16 * 1024
/** What a row counts in addition to its text, so that many rows with a single character cannot fill the disk. */
export const ROW_OVERHEAD_BYTES = 64
/** Lines of one stream and level that were written within this time are stored together. */
const TOGETHER_MS = 5
/** Interval at which the number of omitted lines is stored. */
const TELL_OMITTED_MS = 5_000

/** The end of an attempt's log in the database. */
export interface Position {
  readonly seq: number
  readonly bytes: number
  /** For remote workers: the number of the next line; null for attempts of this node. */
  readonly nextLine: number | null
  readonly isFull: boolean
}

export const EMPTY: Position = { seq: 0, bytes: 0, nextLine: null, isFull: false }

/** Limits of one batch. */
interface Taking {
  readonly rows: number
  readonly bytes: number
  /** Whether nothing follows. */
  readonly isEnd: boolean
  /** The current time, in epoch milliseconds. */
  readonly at: number
}

/** A row that waits to be written, and its size in memory. */
interface WaitingRow extends LogRow {
  text: string
  bytes: number
  nextLine: number | null
  size: number
}

/** Memory that the logs of all attempts of a node use. */
export interface LogMemory {
  bytes: number
}

export interface BufferOptions {
  /** Maximum size of the log of an attempt. */
  readonly maxBytes: number
  readonly memory: LogMemory
}

export class LogBuffer {
  readonly #attempt: LoggedAttempt
  readonly #maxBytes: number
  readonly #memory: LogMemory
  #rows: WaitingRow[] = []
  /** Number of rows at the beginning that are being written and must not change. */
  #taken = 0
  #seq: number
  #bytes: number
  #nextLine: number | null
  #isFull: boolean
  #isDiscarded = false
  #omitted = { lines: 0, bytes: 0 }
  /** Number of the first omitted line that was not stored yet. */
  #omittedFrom: number | null = null
  /** Whether the last omitted bytes do not end a line. */
  #isInLine = false
  #toldAt = Number.NEGATIVE_INFINITY

  constructor(attempt: LoggedAttempt, position: Position, { maxBytes, memory }: BufferOptions) {
    this.#attempt = attempt
    this.#maxBytes = maxBytes
    this.#memory = memory
    this.#seq = position.seq
    this.#bytes = position.bytes
    this.#nextLine = position.nextLine
    this.#isFull = position.isFull
  }

  /** Whether the limit is reached, so that nothing more is kept. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** Whether anything waits to be written. */
  get isWaiting(): boolean {
    return this.#rows.length > 0 || this.#omitted.bytes > 0
  }

  add({ at, stream, level, text }: LogEntry): void {
    let rest = Buffer.from(text)
    while (rest.length > 0 && !this.#isFull) {
      const last = this.#rows.length > this.#taken ? this.#rows.at(-1) : undefined
      const isTogether =
        last?.stream === stream && last.level === level && Math.abs(at - last.at) <= TOGETHER_MS
      const piece = pieceOf(rest, MAX_ROW_BYTES)
      const isSameRow = isTogether && last.size + piece.length <= MAX_ROW_BYTES
      const left = this.#maxBytes - this.#bytes - (isSameRow ? 0 : ROW_OVERHEAD_BYTES)
      const kept = piece.length <= left ? piece : pieceOf(piece, Math.max(0, left))
      if (kept.length > 0) {
        const row = isSameRow ? last : this.#begin({ at, stream, level, text: '' })
        this.#extend(row, kept)
      }
      if (kept.length < piece.length) this.#isFull = true
      rest = rest.subarray(kept.length)
    }
    if (rest.length > 0) this.omit(rest)
  }

  /** Adds a line of a remote worker, unless it was added before. */
  addLine(number: number, entry: LogEntry): void {
    if (this.#nextLine === null || number < this.#nextLine) return
    const isFirst = this.#omitted.bytes === 0
    this.add(entry)
    if (isFirst) this.#omittedFrom = number
    this.#nextLine = number + 1
    const last = this.#rows.at(-1)
    if (last && this.#rows.length > this.#taken) last.nextLine = this.#nextLine
  }

  /** Counts omitted bytes and lines. */
  omit(bytes: Buffer): void {
    if (this.#isDiscarded) return
    this.#omitted.bytes += bytes.length
    this.#omitted.lines += lineFeedsIn(bytes)
    this.#isInLine = bytes.at(-1) !== LINE_FEED
  }

  /** Keeps nothing more, regardless of the limit, because there is no room in memory. */
  close(): void {
    this.#isFull = true
  }

  /**
   * Returns the next rows to write; they stay here until they are `written`. Omitted lines are reported from time to time, and
   * at the end.
   */
  take({ rows: most, bytes, isEnd, at }: Taking): LogRow[] {
    let size = 0
    this.#taken = 0
    for (const row of this.#rows) {
      size += row.size
      if (this.#taken >= most || (this.#taken > 0 && size > bytes)) break
      this.#taken++
    }
    // Omitted lines are reported after all rows, because the rows show whether another node has written meanwhile.
    if (this.#taken > 0 || this.#omitted.bytes === 0) return this.#rows.slice(0, this.#taken)
    const now = performance.now()
    if (!isEnd && now - this.#toldAt < TELL_OMITTED_MS) return []
    this.#toldAt = now
    if (isEnd && this.#isInLine) this.#omitted.lines++
    this.#isInLine &&= !isEnd
    return [this.#omittedRow(at)]
  }

  /** Removes rows that were written, or that cannot be written. */
  written(rows: readonly LogRow[]): void {
    const gone = new Set(rows)
    for (const row of rows)
      if (row.omitted) {
        this.#omitted.bytes -= row.omitted.bytes
        this.#omitted.lines -= row.omitted.lines
      }
    this.#rows = this.#rows.filter((row) => {
      if (!gone.has(row)) return true
      this.#memory.bytes -= row.size
      this.#taken--
      return false
    })
  }

  /** Counts a row that the database rejects as omitted. */
  refused(row: LogRow): void {
    this.written([row])
    if (row.omitted === null) this.omit(Buffer.from(row.text))
  }

  /** Discards everything: the attempt no longer holds the lease of its run. */
  discard(): void {
    this.written(this.#rows)
    this.#isDiscarded = true
    this.#omitted = { lines: 0, bytes: 0 }
    this.#isFull = true
  }

  #begin(entry: LogEntry): WaitingRow {
    const row: WaitingRow = {
      ...this.#attempt,
      ...entry,
      seq: this.#seq++,
      bytes: 0,
      nextLine: this.#nextLine,
      omitted: null,
      size: ROW_OVERHEAD_BYTES,
    }
    this.#bytes += ROW_OVERHEAD_BYTES
    this.#memory.bytes += ROW_OVERHEAD_BYTES
    this.#rows.push(row)
    return row
  }

  #extend(row: WaitingRow, piece: Buffer): void {
    this.#bytes += piece.length
    this.#memory.bytes += piece.length
    row.text += piece.toString()
    row.size += piece.length
    row.bytes = this.#bytes
  }

  #omittedRow(at: number): LogRow {
    return {
      ...this.#attempt,
      seq: OMITTED_SEQ,
      at,
      stream: 'log',
      level: 'warn',
      text: '',
      bytes: this.#bytes,
      nextLine: this.#nextLine,
      omitted: { ...this.#omitted, from: this.#omittedFrom },
    }
  }
}

const LINE_FEED = 0x0a
const isInsideCharacter = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80

/** Returns the beginning of a text, at most `most` bytes: up to the end of a line if there is one, otherwise of a character. */
function pieceOf(bytes: Buffer, most: number): Buffer {
  if (bytes.length <= most) return bytes
  const line = bytes.lastIndexOf(LINE_FEED, most - 1) + 1
  if (most > 0 && line > 0) return bytes.subarray(0, line)
  let end = most
  while (end > 0 && isInsideCharacter(bytes[end])) end--
  return bytes.subarray(0, end)
}

function lineFeedsIn(bytes: Buffer): number {
  let count = 0
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) count++
  return count
}
