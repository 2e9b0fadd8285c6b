/** What tests of limits ask: how much was in progress at once, and whether every place was given back. */
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { eventually } from './eventually.ts'
import type { TestNode } from './node.ts'

/** Creates tasks in one request; answers their ids. */
export async function createAll(
  node: TestNode,
  tasks: readonly Record<string, unknown>[],
): Promise<string[]> {
  const { body } = await node.request('POST', '/v1/tasks/bulk', { tasks })
  return body.items.map(({ id }: { id: string }) => id)
}

/** Waits until every one of the tasks has a run in history. */
export const allEnded = (db: Database, ids: readonly string[], withinMs = 60_000) =>
  eventually(
    async () => {
      const [row] = await db.run(
        sql<{
          count: number
        }>`select count(*)::integer as count from run where task_id = any(${ids}::uuid[])`,
      )
      return row?.count === ids.length
    },
    {
      withinMs,
      otherwise: () =>
        db.run(
          sql`select task_id, kind, state, wake_at, attempt, worker_id, now() from agenda where task_id = any(${ids}::uuid[])`,
        ),
    },
  )

/** When the runs of tasks began and ended, in the order they began. */
export const spansOf = (db: Database, ids: readonly string[]) =>
  db.run(sql<{ taskId: string; startedAt: number; endedAt: number }>`
    select task_id as "taskId", started_at as "startedAt", ended_at as "endedAt" from run
    where task_id = any(${ids}::uuid[]) and started_at is not null order by started_at`)

/** Returns the highest number of attempts that were in progress at once, according to the database. */
export async function mostAtOnce(db: Database, ids: readonly string[]): Promise<number> {
  const edges = (await spansOf(db, ids)).flatMap(({ startedAt, endedAt }) => [
    { at: startedAt, step: 1 },
    { at: endedAt, step: -1 },
  ])
  edges.sort((a, b) => a.at - b.at || a.step - b.step)
  let [now, most] = [0, 0]
  for (const { step } of edges) {
    now += step
    most = Math.max(most, now)
  }
  return most
}

/** A gate as a test looks at it. */
export interface SeenGate {
  readonly queue: string
  readonly key: string | null
  readonly places: number | null
  readonly held: number
  /** Number of live rows that refer to the gate, in the same snapshot. */
  readonly holders: number
}

export const gatesOf = (db: Database) =>
  db.run(sql<SeenGate>`
    select g.queue, g.key, g.places, g.held,
           (select count(*)::integer from agenda a where g.id in (a.gate_id, a.queue_gate_id)) as holders
    from gate g`)

export const heldPlaces = async (db: Database) => (await gatesOf(db)).filter(({ held }) => held !== 0)
