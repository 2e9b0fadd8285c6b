/** Writes that workers make when attempts end. Every write compares the fence and is rejected if it is stale. */
import { LATE_END_MS } from '../../core/run/frontier.ts'
import type { AttemptOutcome } from '../../core/run/run.ts'
import type { Assurance } from '../../runtime/clock.ts'
import { assured, behind, CERTAIN } from '../database/assured.ts'
import { leftAlone } from '../database/left-alone.ts'
import { jsonList, list, type Part, part, reading, sql } from '../database/sql.ts'
import { freedBy } from '../queues/gates.ts'
import { nextOfChain } from './chain.ts'
import { wokenByEnds } from './woken.ts'

/** The end of a run: its row moves from the agenda to history. */
export interface Ending {
  readonly runId: string
  readonly fence: number
  readonly state: 'completed' | 'permanently_failed' | 'cancelled'
  readonly outcome: AttemptOutcome
  readonly startedAt: number | null
  readonly endedAt: number
  readonly output: unknown
  readonly error: unknown
  /** Id for the next row if the run belongs to a `delay` task. */
  readonly nextRunId: string | null
}

/** Result of writing a batch of endings. */
export interface EndResult {
  /** Number of runs that were ended; the fence of the others was stale. */
  readonly ended: number
  /** Whether slots of gates were freed: other runs may be waiting for one. */
  readonly hasFreedGates: boolean
  /** Rows that come due because of these ends: the next rows of `delay` tasks, and rows that were held for a run that ended. */
  readonly following: readonly { readonly shard: number; readonly at: number }[]
}

const ESCAPED_NUL = /(?<!\\)((?:\\\\)*)\\u0000/g

/** The output or error of an attempt, serialised once: its length decides how many endings are written together. */
export class OutcomeText {
  readonly json: string

  constructor(value: unknown) {
    // PostgreSQL does not allow NUL in text, so it is stored as the replacement character.
    const json = JSON.stringify(value)
    this.json = json.includes('\\u0000') ? json.replace(ESCAPED_NUL, '$1\\ufffd') : json
  }
}

/** Serialises an output or error; null if there is none. */
export function outcomeText(value: unknown): OutcomeText | null {
  if (value === undefined || value === null) return null
  return value instanceof OutcomeText ? value : new OutcomeText(value)
}

/** JSON for a jsonb column. */
export const outcomeJson = (value: unknown): string | null => outcomeText(value)?.json ?? null

/**
 * The lateness of a run whose attempt started at an instant, in whole milliseconds, unless an earlier attempt has stored it. The
 * epoch of an interval is a number of seconds that is not exact, so it is rounded to microseconds first: 1.001 s would be
 * 1000 ms otherwise.
 */
export const lateness = (startedAt: Part, jitterMs: Part) =>
  part`coalesce(late_ms, floor(round(date_part('epoch', ${startedAt} - scheduled_for) * 1000000) / 1000) - ${jitterMs})`
export const JITTER = part`coalesce(jitter_ms, 0)`
const NO_JITTER = part`0`

/** The end of a run that completed. */
export type PlainEnding = Pick<Ending, 'runId' | 'fence' | 'output'> & {
  readonly startedAt: number
  readonly endedAt: number
}

export function isPlain(ending: Ending): ending is Ending & PlainEnding {
  const { state, outcome, startedAt, error, nextRunId } = ending
  return (
    state === 'completed' &&
    outcome === 'completed' &&
    startedAt !== null &&
    error === null &&
    nextRunId === null
  )
}

/**
 * Ends completed runs that nothing follows, which is the common case. It leaves a run unchanged and returns it if the run
 * belongs to a chain, holds a slot of a gate, is awaited, has jitter, was cancelled or ended long ago: such a run needs
 * `endRuns`, which also determines whether the fence is stale.
 */
export const endPlainRuns = (endings: readonly PlainEnding[], assurance: Assurance = CERTAIN) =>
  reading(deletePlain(endings, assurance), (answers) =>
    answers.map(({ ended }) => ({ left: leftAlone(endings, ended) })),
  )

const deletePlain = (endings: readonly PlainEnding[], assurance: Assurance) => sql<{
  ended: readonly string[] | null
}>`
  with ${behind(assurance)}, ended as (
    delete from agenda a
    using unnest(
      ${list(endings, (e) => e.runId)}::uuid[], ${list(endings, (e) => e.fence)}::integer[],
      ${list(endings, (e) => e.startedAt)}::float8[], ${list(endings, (e) => e.endedAt)}::float8[],
      ${jsonList(endings, (e) => outcomeJson(e.output))}::jsonb[])
      as i(run_id, fence, started_ms, ended_ms, output)
    where a.run_id = i.run_id and a.fence = i.fence and a.state = 'running'
      and a.gate_id is null and a.queue_gate_id is null and a.holds_project_place is null and a.delay_ms is null and a.cancel_at is null and not a.awaited and a.jitter_ms is null
      and i.ended_ms >= (select date_part('epoch', statement_timestamp()) * 1000 - ${LATE_END_MS}::integer)
    returning a.run_id, a.task_id, a.project_id, a.worker_id, a.scheduled_for, a.version, a.ordinal, a.ordinal_base, a.fence, a.late_ms, a.attempt,
              a.losses, a.kind, i.output,
              ${assured(part`i.started_ms`)} as started_ms, ${assured(part`i.ended_ms`)} as ended_ms
  ), history as (
    insert into run (run_id, task_id, project_id, worker_id, scheduled_for, started_at, ended_at, version, ordinal, ordinal_base, fence, late_ms,
                     attempt, losses, kind, state, outcome, output)
    select run_id, task_id, project_id, worker_id, scheduled_for, to_timestamp(started_ms / 1000),
           to_timestamp(greatest(started_ms, ended_ms) / 1000), version, ordinal, ordinal_base, fence,
           ${lateness(part`to_timestamp(started_ms / 1000)`, NO_JITTER)}, attempt, losses, kind,
           'completed', 'completed', output
    from ended
    returning run_id
  )
  select case when (select count(*) from history) <> ${endings.length}::integer then array(select run_id from history) end as ended`

/**
 * Ends runs in one statement: deletes the live row, inserts the history row, writes the next row of a `delay` task, and wakes
 * the first row that was held for a run that ended. The tasks of chains are locked first, as an edit locks them, so that the
 * next row has the version current at that time. A run that a user cancelled ends as cancelled, whatever the outcome of its
 * attempt. An end that is stored long after it happened is recorded in `late_end`, for readers of history that look only at its
 * latest part.
 */
export function endRuns(endings: readonly Ending[], assurance: Assurance = CERTAIN) {
  const chains = endings.filter(({ nextRunId }) => nextRunId !== null)
  return sql<EndResult>`
    with ${behind(assurance)}, chained as materialized (
      select id, version, definition_in_brief(definition, brief, version) as definition from task
      where id in (select task_id from agenda where run_id = any(${list(chains, (e) => e.runId)}::uuid[]) and delay_ms is not null)
      for share
    ), ended as (
      delete from agenda a
      using unnest(
        ${list(endings, (e) => e.runId)}::uuid[], ${list(endings, (e) => e.fence)}::integer[],
        ${list(endings, (e) => e.state)}::run_state[], ${list(endings, (e) => e.outcome)}::text[],
        ${list(endings, (e) => e.startedAt)}::float8[], ${list(endings, (e) => e.endedAt)}::float8[],
        ${jsonList(endings, (e) => outcomeJson(e.output))}::jsonb[], ${jsonList(endings, (e) => outcomeJson(e.error))}::jsonb[],
        ${list(endings, (e) => e.nextRunId)}::uuid[])
        as i(run_id, fence, end_state, outcome, started_ms, ended_ms, output, error, next_run_id)
      cross join lateral (
        select ${assured(part`i.started_ms`)} as started_ms, ${assured(part`i.ended_ms`)} as ended_ms
      ) c
      where a.run_id = i.run_id and a.fence = i.fence and a.state = 'running' and (select count(*) from chained) >= 0
      returning a.*, case when a.cancel_at is not null then 'cancelled'::run_state else i.end_state end as end_state, i.outcome,
                to_timestamp(c.started_ms / 1000) as started_at, to_timestamp(greatest(c.started_ms, c.ended_ms) / 1000) as ended_at, i.output, i.error, i.next_run_id
    ), ${nextOfChain({
      from: part`from ended e
    join task t on t.id = e.task_id
    left join chained l on l.id = e.task_id
    cross join lateral (
      select coalesce(l.version, t.version) as version,
             coalesce(l.definition, definition_in_brief(t.definition, t.brief, t.version)) as definition
    ) c`,
      id: part`coalesce(e.next_run_id, gen_random_uuid())`,
      endedAt: part`e.ended_at`,
    })}, history as (
      insert into run (run_id, task_id, project_id, worker_id, scheduled_for, started_at, ended_at, version, ordinal, ordinal_base, fence, late_ms,
                       attempt, losses, kind, state, outcome, output, error)
      select run_id, task_id, project_id, worker_id, scheduled_for, started_at, ended_at, version, ordinal, ordinal_base, fence,
             ${lateness(part`started_at`, JITTER)}, attempt, losses, kind, end_state, outcome,
             output, error
      from ended
    ), noted as (
      insert into late_end (run_id, ended_at)
      select run_id, ended_at from ended where ended_at < statement_timestamp() - ${LATE_END_MS}::integer * interval '1 millisecond'
    ), ${freedBy(part`ended`)}, ${wokenByEnds}
    select (select count(*)::integer from ended) as ended, exists (select from freed) as "hasFreedGates",
           coalesce((select jsonb_agg(jsonb_build_object('shard', shard, 'at', floor(extract(epoch from wake_at) * 1000)))
                     from (select * from next_of_chain union all select * from woken) due), '[]') as following`
}

/** Returns which of the given runs a user has asked to cancel. */
export const cancelledAmong = (runIds: readonly string[]) => sql<{ runId: string }>`
  select run_id as "runId" from agenda where run_id = any(${runIds}::uuid[]) and cancel_at is not null`
