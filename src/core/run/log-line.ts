/** The log of a run as clients read it: lines, each with a position from which reading can continue. Pure. */
import { MAX_INTEGER } from '../values/integer.ts'
import type { LogEntry } from './log-entry.ts'

/** The position after a line, identified by the fence of its attempt, its row, and its index in the row. */
export interface LogPosition {
  readonly fence: number
  readonly seq: number
  readonly line: number
}

/** The position before all lines. */
export const LOG_START: LogPosition = { fence: 0, seq: -1, line: -1 }

const POSITION = /^(\d{1,10})\.(\d{1,10})\.(\d{1,10})$/

export const formatLogPosition = ({ fence, seq, line }: LogPosition): string => `${fence}.${seq}.${line}`

/** Parses a position; undefined if the text is not valid. */
export function parseLogPosition(text: string): LogPosition | undefined {
  const [fence = -1, seq = -1, line = -1] = POSITION.exec(text)?.slice(1).map(Number) ?? []
  const isPosition = [fence, seq, line].every((part) => part >= 0 && part <= MAX_INTEGER)
  return isPosition ? { fence, seq, line } : undefined
}

/** The position after all lines of a row. */
export const behindRow = ({ fence, seq }: Pick<ReadRow, 'fence' | 'seq'>): LogPosition => ({
  fence,
  seq,
  line: MAX_INTEGER,
})

export const isBehind = (a: LogPosition, b: LogPosition): boolean =>
  a.fence === b.fence ? (a.seq === b.seq ? a.line > b.line : a.seq > b.seq) : a.fence > b.fence

/** A row of the log, with the members that its lines need. */
export interface ReadRow extends LogEntry {
  readonly fence: number
  readonly seq: number
  readonly attempt: number
  /** How much of the attempt's log was omitted; null except in its last row. */
  readonly omittedLines: number | null
  readonly omittedBytes: number | null
}

/** A line of the log. */
export interface LogLine extends LogEntry {
  readonly position: LogPosition
  readonly attempt: number
  /** The line continues in the next line of its stream, because it was written in parts or is very long. */
  readonly isPartial: boolean
  /** How much of the attempt's log was omitted, if this line reports it. */
  readonly omitted: { readonly lines: number; readonly bytes: number } | null
}

/** The lines of a row. */
export function linesOf(row: ReadRow): LogLine[] {
  const { fence, seq, attempt, at, stream, level, text } = row
  const line = { attempt, at, stream, level, omitted: null }
  if (row.omittedLines !== null) {
    const omitted = { lines: row.omittedLines, bytes: row.omittedBytes ?? 0 }
    const position = { fence, seq, line: 0 }
    return [{ ...line, position, text: omittedWords(omitted), isPartial: false, omitted }]
  }
  const parts = text.split('\n')
  const isWhole = parts.at(-1) === ''
  if (isWhole) parts.pop()
  return parts.map((part, i) => {
    const isPartial = !isWhole && i === parts.length - 1
    return {
      ...line,
      position: { fence, seq, line: i },
      text: !isPartial && part.endsWith('\r') ? part.slice(0, -1) : part,
      isPartial,
    }
  })
}

const UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'] as const

function omittedWords({ lines, bytes }: NonNullable<LogLine['omitted']>): string {
  const power = bytes < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10))
  const size = bytes / 1024 ** power
  const figure = power === 0 ? String(size) : size.toFixed(size < 10 ? 1 : 0)
  const count = `${lines} more ${lines === 1 ? 'line' : 'lines'}`
  return `… ${count} (${figure} ${UNITS[power]}) omitted: the log of an attempt is limited`
}
