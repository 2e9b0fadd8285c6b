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
  /** Only lines that were written at or after this instant, epoch milliseconds. */
  readonly since: number | null
  /** Only lines that contain this text, in small or capital letters. */
  readonly text: string | null
}

/** Some lines, and where to go on. */
export interface LogPage {
  readonly lines: readonly LogLine[]
  /** Behind everything that was looked at. What tells about omitted lines may change, and is not counted. */
  readonly end: LogPosition
  /** The position to go on from; null at the end of what there is. */
  readonly next: LogPosition | null
}

/** Bytes of text that one page holds; the line in which they are exceeded is the last. */
const MAX_PAGE_BYTES = 1024 * 1024
/** Rows that one statement reads: a mebibyte at most, and more where only some of them are wanted. */
const ROWS_A_READ = 64
/** Most pages are a few rows of many lines each. */
const FIRST_ROWS = 4
const ROWS_A_SEARCH = 500
/** A search gives up after so many rows, and is gone on with by another request. */
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

/** Up to so many lines behind a position. */
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

/** Those lines of a row that are wanted. */
export function wantedLines(row: ReadRow, { attempt, since, text }: LogFilter): LogLine[] {
  if ((attempt !== null && row.attempt !== attempt) || (since !== null && row.at < since)) return []
  const wanted = text?.toLowerCase() ?? ''
  return linesOf(row).filter((line) => wanted === '' || line.text.toLowerCase().includes(wanted))
}

/** All lines that there are, page by page. */
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
