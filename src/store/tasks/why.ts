/**
 * The data that explains why a task is not running: its live rows, where they wait and which workers could take them; for a
 * past instant, what was recorded about it. Each statement reads a bounded range of an index.
 */
import { HTTP_LABEL } from '../../core/run/own-labels.ts'
import type { LiveRun, Waiting, Workers } from '../../core/why/now-case.ts'
import type { PastAttempt, PastRun, Pause } from '../../core/why/then-case.ts'
import { watchedShards } from '../agenda/shards.ts'
import { list, type Part, part, sql } from '../database/sql.ts'
import { nextStartAt } from '../queues/rates.ts'
import { isForActors } from '../queues/waiting-lanes.ts'

/** The current pause of a task. */
export interface PauseNow {
  readonly pauseReason: string | null
  readonly resumeAt: number | null
  readonly nextOrdinal: number
  readonly awaitsFiles: boolean
}

export const pauseNow = (taskId: string) => sql<PauseNow>`
  select pause_reason as "pauseReason", resume_at as "resumeAt", next_ordinal as "nextOrdinal", awaits_files and paused_at is not null as "awaitsFiles" from task where id = ${taskId}`

/** Returns the live rows of a task, earliest due first, with the line for which those in a side lane wait. */
export const liveRuns = ({ taskId, limit }: { taskId: string; limit: number }) => sql<
  LiveRun & { lane: number; priority: number; line: string | null }
>`
  select run_id as "runId", kind, state, scheduled_for as "scheduledFor", wake_at as "wakeAt", attempt, worker_id as "workerId",
         claimed_at as "claimedAt", cancel_at is not null as "isCancelled", coalesce(side, lane) as lane, priority,
         (select line from lane where id = agenda.side) as line
  from agenda where task_id = ${taskId}
  order by scheduled_for, run_id limit ${limit}`

/**
 * Returns the queue, the concurrency key and the labels of a lane, as far as they are known, and how many runs wait there
 * before a run.
 */
export const waitingIn = ({
  lane,
  before,
  limit,
}: {
  lane: number
  before: { readonly priority: number; readonly wakeAt: number; readonly runId: string } | null
  limit: number
}) => sql<Waiting>`
  select l.queue, q.paused_at as "queuePausedAt", w.places as "queueLimit", coalesce(w.held, 0) as "queueHeld", l.key, l.places as "keyLimit",
         l.held as "keyHeld", w.rate as "queueRate", w.opens_at as "queueOpensAt", l.rate as "keyRate", l.opens_at as "keyOpensAt", p.places as "projectLimit", coalesce(p.held, 0) as "projectHeld",
         p.rate as "projectRate", p.opens_at as "projectOpensAt", l.labels, l.handler,
         (select count(*)::integer from (
            select from ready r where r.lane = ${lane}
              and (r.priority, r.wake_at, r.run_id)
                  < (${before?.priority ?? null}::smallint, to_timestamp(${before?.wakeAt ?? null}::float8 / 1000), ${before?.runId ?? null}::uuid)
            limit ${limit}) ahead) as ahead, false as "isMissing"
  from (
    select project_id, queue, labels, handler, key, places, held, rate, ${nextStartAt} as opens_at from gate g where id = ${lane} and key is not null
    union all
    select project_id, queue, labels, handler, null, null, 0, null, null from lane where id = ${lane}
  ) l
  join queue q on q.project_id = l.project_id and q.name = l.queue
  left join lateral (
    select places, held, rate, ${nextStartAt} as opens_at from gate g where g.project_id = l.project_id and g.queue = l.queue and g.key is null
  ) w on true
  left join lateral (
    select places, held, rate, ${nextStartAt} as opens_at from project_gate g where g.project_id = l.project_id
  ) p on true
  limit 1`

/** What a worker must offer to take a run. */
export interface Needs {
  readonly projectId: string
  readonly labels: readonly string[]
  /** Null for any other action, which nodes perform, and remote workers that may be given it. */
  readonly handler: string | null
  readonly queue: string
}

/**
 * Those workers, among the nodes `n` that were alive, for which a run could be intended, and whether each offers what the run
 * needs. Nodes perform everything without a handler; remote workers of the project perform handlers, programs, and calls of
 * tasks that require labels.
 */
export const candidates = ({ projectId, labels, handler, queue }: Needs, wasThere: Part): Part => part`(
    select n.concurrency, r.id is not null as remote, coalesce(r.labels, n.labels) @> ${texts(labels)}::text[]
             and (${handler}::text is null or ${handler} = any(r.handlers)) and (r.queues is null or ${queue} = any(r.queues)) as able
    from node n left join remote_worker r on r.id = n.id
    where ${wasThere} and case
      when r.id is null then ${handler}::text is null and 'worker' = any(n.roles)
      else r.project_id = ${projectId}::uuid
        and (${handler}::text is not null or ${isForActors(part`${texts(labels)}::text[]`, part`${HTTP_LABEL} = any(r.labels)`)}) end
  )`

const texts = (labels: readonly string[]) => list(labels, (label) => label)

/** Counts the living workers, of nodes and remote ones, those of them that offer what is needed, and their slots. */
export const workersFor = (needs: Needs) => sql<Workers>`
  select count(*)::integer as alive, count(*) filter (where able)::integer as capable, count(*) filter (where able and remote)::integer as remote,
         coalesce(sum(concurrency) filter (where able), 0)::integer as places
  from ${candidates(needs, part`n.dead_at is null`)} w`

/** Returns the owner of a shard and when it last reported. */
export const watcherOf = (shard: number) => sql<{
  owner: string | null
  watchedUntil: number
  silentMs: number
}>`
  select owner, watched_until as "watchedUntil", (extract(epoch from clock_timestamp() - watched_until) * 1000)::float8 as "silentMs"
  from ${watchedShards} s where id = ${shard}::smallint`

/** Returns runs of a task that were due at or before an instant, live or ended, latest first. */
export const runsUpTo = ({
  taskId,
  at,
  limit,
}: {
  taskId: string
  at: number
  limit: number
}) => sql<PastRun>`
  select * from (
    (select run_id as "runId", kind::text as kind, state::text as state, null as reason, scheduled_for as "scheduledFor",
            null::timestamptz as "coversUntil", case when state = 'running' and greatest(wake_at, scheduled_for) <= now() then greatest(claimed_at, wake_at, scheduled_for) end as "startedAt", null::timestamptz as "endedAt",
            late_ms as "lateMs", attempt, version
     from agenda
     where task_id = ${taskId} and scheduled_for <= to_timestamp(${at}::float8 / 1000) and state <> 'scheduled'
     order by scheduled_for desc, run_id desc limit ${limit})
    union all
    (select run_id, kind::text, state::text, reason, scheduled_for, covers_until, started_at, ended_at, late_ms, attempt, version
     from run
     where task_id = ${taskId} and scheduled_for <= to_timestamp(${at}::float8 / 1000)
     order by scheduled_for desc, run_id desc limit ${limit})
  ) r
  order by "scheduledFor" desc, "runId" desc limit ${limit}`

/** Returns the attempts of a run that were followed by another, in order. */
export const attemptsOf = ({ runId, from }: { runId: string; from: number }) => sql<PastAttempt>`
  select run_id as "runId", number, outcome, started_at as "startedAt", ended_at as "endedAt"
  from attempt where run_id = ${runId} and ended_at >= to_timestamp(${from}::float8 / 1000) - interval '1 day'
  order by number limit 100`

/** Returns the pause that a task was in at an instant. */
export const pauseAt = ({ taskId, at }: { taskId: string; at: number }) => sql<Pause>`
  select * from (
    select paused_at as "pausedAt", resumed_at as "resumedAt", reason from task_pause
    where task_id = ${taskId} and paused_at <= to_timestamp(${at}::float8 / 1000)
    order by paused_at desc limit 1
  ) p
  where "resumedAt" is null or "resumedAt" > to_timestamp(${at}::float8 / 1000)`
