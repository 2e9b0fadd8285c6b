/** Writes the logs of attempts. A row is written only while its attempt holds the lease of the run, which the fence proves. */

import type { LogLevel, LogStream } from '../../core/run/log-entry.ts'
import { MAX_INTEGER } from '../../core/values/integer.ts'
import { list, sql } from '../database/sql.ts'

/** Sequence number of the row of an attempt that counts omitted lines; its other rows are numbered from 0. */
export const OMITTED_SEQ = MAX_INTEGER

/** A piece of the log of an attempt, as stored. */
export interface LogRow {
  readonly runId: string
  readonly fence: number
  readonly seq: number
  /** Epoch milliseconds. */
  readonly at: number
  readonly stream: LogStream
  readonly level: LogLevel | null
  readonly text: string
  /** Number of bytes of the limit that the attempt has used, including this row. */
  readonly bytes: number
  /** For remote workers: the number of the line after this row. */
  readonly nextLine: number | null
  /** In the row that counts omitted lines: what was omitted since it was last written. */
  readonly omitted: NewlyOmitted | null
}

/** What was omitted from a log. */
export interface Omitted {
  readonly lines: number
  readonly bytes: number
}

/** What was omitted since the last write. */
export interface NewlyOmitted extends Omitted {
  /** For remote workers: the number of the first omitted line. */
  readonly from: number | null
}

/** Result of writing the rows of one attempt. */
export interface AppendedLog {
  readonly runId: string
  readonly fence: number
  readonly given: number
  /** Lower than `given` if some rows had been written before. */
  readonly written: number
}

/**
 * Writes pieces of the logs of any number of attempts; returns a row for each attempt that still holds the lease of its run.
 * Rows that were written before stay as they are, except that omitted lines are added up.
 */
export const appendLog = (rows: readonly LogRow[]) => sql<AppendedLog>`
  with given as materialized (
    select * from unnest(
      ${list(rows, (r) => r.runId)}::uuid[], ${list(rows, (r) => r.fence)}::integer[], ${list(rows, (r) => r.seq)}::integer[],
      ${list(rows, (r) => r.stream)}::text[], ${list(rows, (r) => r.level)}::text[], ${list(rows, (r) => r.at)}::float8[],
      ${list(rows, (r) => r.text)}::text[], ${list(rows, (r) => r.bytes)}::integer[], ${list(rows, (r) => r.nextLine)}::integer[],
      ${list(rows, (r) => r.omitted?.lines ?? null)}::bigint[], ${list(rows, (r) => r.omitted?.bytes ?? null)}::bigint[],
      ${list(rows, (r) => r.omitted?.from ?? null)}::integer[]
    ) as i(run_id, fence, seq, stream, level, at_ms, text, bytes, next_line, omitted_lines, omitted_bytes, omitted_from)
  ), held as materialized (
    select a.run_id, a.fence, a.attempt, a.claimed_at
    from (select distinct run_id, fence from given) g
    join agenda a on a.run_id = g.run_id and a.fence = g.fence and a.state = 'running'
  ), written as (
    insert into run_log (run_id, fence, seq, claimed_at, attempt, stream, level, at, text, bytes, next_line, omitted_lines, omitted_bytes)
    select g.run_id, g.fence, g.seq, h.claimed_at, h.attempt, g.stream, g.level, to_timestamp(g.at_ms / 1000), g.text, g.bytes, g.next_line,
           g.omitted_lines, g.omitted_bytes
    from given g join held h on h.run_id = g.run_id and h.fence = g.fence
    where g.omitted_from is null or not exists (
      select from run_log o where o.run_id = g.run_id and o.fence = g.fence and o.claimed_at = h.claimed_at and o.seq = ${OMITTED_SEQ}
        and o.next_line > g.omitted_from)
    on conflict on constraint run_log_is_single do update set
      at = excluded.at, omitted_lines = run_log.omitted_lines + excluded.omitted_lines,
      omitted_bytes = run_log.omitted_bytes + excluded.omitted_bytes, next_line = greatest(run_log.next_line, excluded.next_line)
      where excluded.seq = ${OMITTED_SEQ}
    returning run_id, fence
  )
  select h.run_id as "runId", h.fence,
         (select count(*) from given g where g.run_id = h.run_id and g.fence = h.fence)::integer as given,
         (select count(*) from written w where w.run_id = h.run_id and w.fence = h.fence)::integer as written
  from held h`

/** The end of the log of an attempt. */
export interface LogHead {
  readonly runId: string
  readonly fence: number
  /** Sequence number of the next row. */
  readonly seq: number
  readonly bytes: number
  /** Number of the first line that was not stored yet. */
  readonly nextLine: number
  readonly isFull: boolean
}

/**
 * Returns where the logs of attempts in progress end, whichever process wrote them; no row for attempts that no longer hold the
 * lease of their run.
 */
export const logHeads = (runs: readonly { readonly runId: string; readonly fence: number }[]) => sql<LogHead>`
  select a.run_id as "runId", a.fence, coalesce(last.seq + 1, 0) as seq, coalesce(last.bytes, 0) as bytes,
         greatest(last.next_line, omitted.next_line, 0) as "nextLine", omitted.seq is not null as "isFull"
  from unnest(${list(runs, (r) => r.runId)}::uuid[], ${list(runs, (r) => r.fence)}::integer[]) as i(run_id, fence)
  join agenda a on a.run_id = i.run_id and a.fence = i.fence and a.state = 'running'
  left join lateral (
    select l.seq, l.bytes, l.next_line from run_log l
    where l.run_id = a.run_id and l.fence = a.fence and l.claimed_at = a.claimed_at and l.seq < ${OMITTED_SEQ}
    order by l.seq desc limit 1
  ) last on true
  left join run_log omitted
    on omitted.run_id = a.run_id and omitted.fence = a.fence and omitted.claimed_at = a.claimed_at and omitted.seq = ${OMITTED_SEQ}`
