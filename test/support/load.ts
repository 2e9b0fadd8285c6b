/**
 * A client that does not give up, and an outsider's look at what became of its tasks. The client sends
 * each task under an idempotency key and asks again, on whatever address the server has by then, until it
 * is answered with 2xx. The looks are plain questions to the tables and share no code with the product.
 */
import pg from 'pg'
import { eventually } from './eventually.ts'
import { type Answer, request } from './request.ts'

export interface Wanted {
  readonly key: string
  readonly body: Readonly<Record<string, unknown>>
}

export interface Accepted {
  readonly key: string
  readonly id: string
}

const AT_ONCE = 20
const RETRY_MS = 25
const MAX_TRIES = 4_000

export class Client {
  readonly accepted: Accepted[] = []
  /** Requests that were answered with 5xx or not at all. */
  unanswered = 0
  url: string

  constructor(url: string) {
    this.url = url
  }

  /** Creates all of them, some at a time; resolves when the last one was accepted. */
  async create(wanted: readonly Wanted[]): Promise<void> {
    const queue = [...wanted]
    const work = async () => {
      for (let next = queue.shift(); next; next = queue.shift()) await this.#createOne(next)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
  }

  async #createOne({ key, body }: Wanted): Promise<void> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const answer = await this.#post({ key, ...body }, key)
      if (answer !== null && answer.status < 300) {
        this.accepted.push({ key, id: answer.body.id })
        return
      }
      if (answer !== null && answer.status < 500)
        throw new Error(`${key} was refused: ${JSON.stringify(answer.body)}`)
      this.unanswered += 1
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
    throw new Error(`${key} was never accepted`)
  }

  async #post(body: unknown, key: string): Promise<Answer | null> {
    try {
      return await request(this.url, 'POST', '/v1/tasks', body, { 'idempotency-key': key })
    } catch {
      return null
    }
  }
}

/** Asks the database itself, on a connection for each question: it is killed and comes back under us. */
export async function ask<Row>(url: string, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(text, values)).rows as Row[]
  } finally {
    await client.end()
  }
}

/** Waits until no run of these tasks is left; fails with those that are. */
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

export interface LedgerRow {
  readonly taskId: string
  readonly runId: string
  readonly state: string
  readonly reason: string | null
  readonly scheduledFor: Date
  readonly attempt: number
  readonly losses: number
}

/** What history says about these tasks. */
export function ledgerOf(url: string, taskIds: readonly string[]): Promise<LedgerRow[]> {
  return ask(
    url,
    `select task_id as "taskId", run_id as "runId", state::text as state, reason,
            scheduled_for as "scheduledFor", attempt, losses
     from run where task_id = any($1) order by scheduled_for`,
    [taskIds],
  )
}

/** Occurrences that have more than one row, live or ended. There must be none, ever. */
export function doubledOccurrences(url: string): Promise<unknown[]> {
  return ask(
    url,
    `select task_id, scheduled_for, kind, count(*)
     from (select run_id, task_id, scheduled_for, kind from agenda
           union all select run_id, task_id, scheduled_for, kind from run) as both_halves
     where kind = 'occurrence'
     group by task_id, scheduled_for, kind having count(*) > 1
     union all
     select run_id, null, null, count(*)
     from (select run_id from agenda union all select run_id from run) as both_halves
     group by run_id having count(*) > 1`,
  )
}

/** Runs whose worker died while it held them, with how many did. */
export async function lostRuns(url: string): Promise<Map<string, number>> {
  const rows = await ask<{ runId: string; count: number }>(
    url,
    `select run_id as "runId", count(*)::int as count from attempt where outcome = 'worker_lost' group by run_id`,
  )
  return new Map(rows.map(({ runId, count }) => [runId, count]))
}
