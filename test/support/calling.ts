/** Tasks that call targets, and the state of their runs in the database. */
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { eventually } from './eventually.ts'
import type { Answer } from './request.ts'
import type { Target } from './target-servers.ts'

interface Api {
  request(method: string, path: string, body?: unknown): Promise<Answer>
}

/** Number of calls that a node may have under way to one target, unless configured otherwise. */
export const TARGET_LIMIT = 128

/** Creates one-off tasks that call a target, each on the path of its number; answers their ids. */
export async function callAll(
  node: Api,
  target: Pick<Target, 'url'>,
  count: number,
  fields: Record<string, unknown> | ((i: number) => Record<string, unknown>) = {},
): Promise<string[]> {
  const tasks = Array.from({ length: count }, (_, i) => ({
    action: { type: 'webhook', url: `${target.url}/${i}` },
    ...(typeof fields === 'function' ? fields(i) : fields),
  }))
  const { status, body } = await node.request('POST', '/v1/tasks/bulk', { tasks })
  if (status !== 201) throw new Error(`The tasks were refused: ${JSON.stringify(body)}`)
  return body.items.map(({ id }: { id: string }) => id)
}

/** Waits until a target has a number of calls under way. */
export const untilUnderWay = (target: Target, count: number) =>
  eventually(
    async () => {
      const seen = await target.read()
      return seen.underWay === count && seen
    },
    { otherwise: async () => ({ ...(await target.read()), calls: [] }) },
  )

/** A live run as the database has it. */
export interface LiveRun {
  readonly taskId: string
  readonly runId: string
  readonly state: string
  readonly attempt: number
  readonly workerId: string | null
  readonly isReady: boolean
}

export const liveRuns = (db: Database, taskIds: readonly string[]) =>
  db.run(sql<LiveRun>`
    select task_id as "taskId", run_id as "runId", state, attempt, worker_id as "workerId",
           exists (select from ready r where r.run_id = a.run_id) as "isReady"
    from agenda a where task_id = any(${taskIds}::uuid[]) order by scheduled_for, run_id`)

/** Waits until this many of the runs wait for a worker, unclaimed; returns them. */
export const untilWaiting = (db: Database, taskIds: readonly string[], count: number) =>
  eventually(
    async () => {
      const waiting = (await liveRuns(db, taskIds)).filter((run) => run.state === 'pending' && run.isReady)
      return waiting.length === count && waiting
    },
    { otherwise: () => tally(db, taskIds) },
  )

const tally = (db: Database, taskIds: readonly string[]) =>
  db.run(sql`
    select state, attempt, worker_id is not null as claimed, count(*)::integer as count
    from agenda where task_id = any(${taskIds}::uuid[]) group by 1, 2, 3`)

/** How each run of the tasks ended, with the number of its attempts, in the order of the ids. */
export async function endsOf(db: Database, taskIds: readonly string[]) {
  const rows = await db.run(sql<{ taskId: string; state: string; reason: string | null; attempt: number }>`
    select task_id as "taskId", state, reason, attempt from run where task_id = any(${taskIds}::uuid[])`)
  return taskIds.flatMap((id) => rows.filter(({ taskId }) => taskId === id))
}
