/**
 * The observer: questions to the database itself, and a record of each change to a live row, written by
 * triggers that it puts there before the product starts. Nothing of the product's code is used.
 */
import pg from 'pg'
import { eventually } from '../support/eventually.ts'
import type { Tables } from './evidence.ts'

/** Opens a connection for each query, because the database may be killed and restarted in between. */
export const ask = <Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> =>
  connected(url, async (client) => (await client.query(text, values)).rows as Row[])

async function connected<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** Starts recording each change, with the instant at which it was made. */
export async function recordChanges(url: string): Promise<void> {
  await ask(
    url,
    `create schema observed;
     create table observed.change (
       n bigint generated always as identity, at timestamptz not null default clock_timestamp(), run_id uuid, task_id uuid,
       scheduled_for timestamptz, shard smallint, was text, is_now text, fence_before integer, fence integer,
       worker_before uuid, worker_id uuid, is_stopped boolean, backend integer default pg_backend_pid());
     create table observed.owner (
       n bigint generated always as identity, at timestamptz not null default clock_timestamp(), shard smallint, owner uuid);
     create function observed.write_change() returns trigger language plpgsql as $$
     begin
       insert into observed.change (run_id, task_id, scheduled_for, shard, was, is_now, fence_before, fence, worker_before, worker_id, is_stopped)
       select coalesce(new.run_id, old.run_id), coalesce(new.task_id, old.task_id), coalesce(new.scheduled_for, old.scheduled_for),
              coalesce(new.shard, old.shard), old.state, new.state, old.fence, new.fence, old.worker_id, new.worker_id,
              coalesce(new.cancel_at, old.cancel_at) is not null;
       return null;
     end $$;
     create function observed.write_owner() returns trigger language plpgsql as $$
     begin
       insert into observed.owner (shard, owner) values (new.id, new.owner);
       return null;
     end $$;
     create trigger observed after insert or update or delete on agenda for each row execute function observed.write_change();
     create trigger observed after update on shard for each row
       when (old.owner is distinct from new.owner) execute function observed.write_owner();`,
  )
}

const ms = (column: string) => `(extract(epoch from ${column}) * 1000)::float8`

/** Reads all tables as of one instant: a run that ends meanwhile is in one table, not in both. */
export const observe = (url: string): Promise<Tables> =>
  connected(url, async (client) => {
    await client.query('begin isolation level repeatable read read only')
    return readAll(async (text) => (await client.query(text)).rows)
  })

async function readAll(read: <Row>(text: string) => Promise<Row[]>): Promise<Tables> {
  const [clock] = await read<{ now: number; recorded: boolean }>(
    `select ${ms('clock_timestamp()')} as now, to_regclass('observed.change') is not null as recorded`,
  )
  return {
    readAt: clock?.now ?? 0,
    tasks: await read('select id, key from task order by created_at'),
    live: await read(`
      select run_id as "runId", task_id as "taskId", kind, state, ${ms('scheduled_for')} as "scheduledFor", ${ms('wake_at')} as "wakeAt",
             fence, attempt, num_nonnulls(gate_id, queue_gate_id) as places from agenda`),
    history: await read(`
      select run_id as "runId", task_id as "taskId", kind, state, outcome, reason, ${ms('scheduled_for')} as "scheduledFor",
             ${ms('covers_until')} as "coversUntil", ${ms('started_at')} as "startedAt", ${ms('ended_at')} as "endedAt", fence, attempt,
             losses, worker_id as "workerId" from run order by ended_at`),
    attempts: await read(`
      select run_id as "runId", number, fence, outcome, ${ms('started_at')} as "startedAt", ${ms('ended_at')} as "endedAt",
             worker_id as "workerId" from attempt order by ended_at`),
    nodes: await read(
      `select id, coalesce(substring(name from '/(\\d+)$')::integer, 0) as process, 'scheduler' = any(roles) as "isScheduler", 'remote' = any(roles) as "isRemote", ${ms('dead_at')} as "deadAt" from node`,
    ),
    gates: await read('select queue, key, held from gate'),
    changes: clock?.recorded
      ? await read(`
      select ${ms('at')} as at, run_id as "runId", task_id as "taskId", ${ms('scheduled_for')} as "scheduledFor", shard, was as from,
             is_now as to, fence_before as "fenceBefore", fence, worker_before as "workerBefore", worker_id as "workerId", backend,
             is_stopped as "isStopped"
      from observed.change order by n`)
      : null,
    owners: clock?.recorded
      ? await read(`select ${ms('at')} as at, shard, owner from observed.owner order by n`)
      : [],
  }
}

/** How many runs of these tasks have ended, or were skipped. */
export async function countEnded(url: string, taskIds: readonly string[]): Promise<number> {
  const [row] = await ask<{ count: number }>(
    url,
    'select count(*)::integer as count from run where task_id = any($1)',
    [taskIds],
  )
  return row?.count ?? 0
}

/** Waits until these tasks have no live rows; fails with the rows that are left. */
export async function untilEnded(
  url: string,
  taskIds: readonly string[],
  { withinMs }: { withinMs: number },
): Promise<void> {
  const isOver = async () => (await openRuns(url, taskIds)).length === 0
  await eventually(isOver, { withinMs, everyMs: 50 }).catch(async () => {
    const left = await openRuns(url, taskIds)
    throw new Error(
      `${left.length} runs have not ended within ${withinMs} ms: ${JSON.stringify(left.slice(0, 5))}`,
    )
  })
}

function openRuns(url: string, taskIds: readonly string[]): Promise<unknown[]> {
  return ask(
    url,
    `select a.*, n.beat_at, n.dead_at, s.owner as shard_owner, now(),
            exists (select from ready r where r.run_id = a.run_id) as is_ready
     from agenda a join shard s on s.id = a.shard left join node n on n.id = a.worker_id
     where task_id = any($1)`,
    [taskIds],
  )
}
