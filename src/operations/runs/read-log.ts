/** Reads the log of a run: what its attempts have written, in the order of attempts. */
import { Refusal } from '../../core/errors.ts'
import { uuidTime } from '../../core/ids.ts'
import {
  behindRow,
  isBehind,
  LOG_START,
  type LogLine,
  type LogPosition,
  linesOf,
  type ReadRow,
} from '../../core/run/log-line.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type RunWithLog, readLog, runWithLog } from '../../store/logs/read.ts'
import type { Context } from '../context.ts'

/** Which lines to read. */
export interface LogFilter {
  readonly attempt: number | null
  /** Only lines written at or after this instant, in epoch milliseconds. */
  readonly since: number | null
  /** Only lines that contain this text, ignoring case. */
  readonly text: string | null
}

/** Some lines, and the position to continue from. */
export interface LogPage {
  readonly lines: readonly LogLine[]
  /** The position after all rows that were examined, except notes about omitted lines, which may still change. */
  readonly end: LogPosition
  /** The position to continue from; null at the end of the log. */
  readonly next: LogPosition | null
}

/** Maximum bytes of text per page; the line that exceeds them is the last. */
const MAX_PAGE_BYTES = 1024 * 1024
/** Number of rows that one statement reads: one mebibyte at most; a search reads more. */
const ROWS_A_READ = 64
/** Most pages are a few rows of many lines each. */
const FIRST_ROWS = 4
const ROWS_A_SEARCH = 500
/** Maximum number of rows that a search reads; another request continues it. */
const MAX_ROWS_SEARCHED = 2_000

export async function findLog(
  { db, projectId }: Pick<Context, 'db' | 'projectId'>,
  runId: string,
): Promise<RunWithLog> {
  const find = async (madeAt: number) => (await db.run(runWithLog({ projectId, runId, madeAt })))[0]
  // A run id made by a node whose clock was far ahead seems to come from after the run's end.
  const found = (await find(uuidTime(runId))) ?? (await find(0))
  if (!found) throw new Refusal('not_found', `Run ${runId} does not exist.`)
  return found
}

/** Returns up to `limit` lines after a position. */
export async function readLines(
  db: Queryable,
  run: RunWithLog,
  { after, limit, filter }: { after: LogPosition; limit: number; filter: LogFilter },
): Promise<LogPage> {
  const isSearch = filter.text !== null || filter.since !== null
  let rowsARead = isSearch ? ROWS_A_SEARCH : Number.isFinite(limit) ? FIRST_ROWS : ROWS_A_READ
  const lines: LogLine[] = []
  let looked = after
  let end = after
  let bytes = 0
  for (let searched = 0; searched < MAX_ROWS_SEARCHED; searched += rowsARead) {
    const rows = await db.run(readLog({ ...run, ...filter, after: looked, limit: rowsARead }))
    for (const row of rows) {
      for (const line of row.isWanted ? wantedLines(row, filter) : []) {
        if (!isBehind(line.position, looked)) continue
        lines.push(line)
        bytes += line.text.length
        if (lines.length < limit && bytes < MAX_PAGE_BYTES) continue
        return { lines, end: line.omitted ? end : line.position, next: line.position }
      }
      looked = behindRow(row)
      if (row.omittedLines === null) end = looked
    }
    if (rows.length < rowsARead) return { lines, end, next: null }
    if (!isSearch) rowsARead = Math.min(ROWS_A_READ, 2 * rowsARead)
  }
  return { lines, end, next: looked }
}

/** Returns the lines of a row that match the filter. */
export function wantedLines(row: ReadRow, { attempt, since, text }: LogFilter): LogLine[] {
  if ((attempt !== null && row.attempt !== attempt) || (since !== null && row.at < since)) return []
  const wanted = text?.toLowerCase() ?? ''
  return linesOf(row).filter((line) => wanted === '' || line.text.toLowerCase().includes(wanted))
}

/** Returns all lines, page by page. */
export async function* readAllLines(
  db: Queryable,
  run: RunWithLog,
  filter: LogFilter,
): AsyncGenerator<readonly LogLine[]> {
  for (let after: LogPosition | null = LOG_START; after !== null; ) {
    const page: LogPage = await readLines(db, run, { after, limit: Number.POSITIVE_INFINITY, filter })
    yield page.lines
    after = page.next
  }
}
