/** Rows straight in the tables, for tests that look at one statement at a time. */
import { shardOf, uuidv7 } from '../../src/core/ids.ts'
import { laneOf } from '../../src/core/run/lane.ts'
import { TASK_DEFAULTS } from '../../src/core/task/field-list.ts'
import type { TaskDefinition } from '../../src/core/task/task.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { originOf } from '../../src/operations/audit-log/record-change.ts'
import type { DueRow } from '../../src/store/agenda/look-ahead.ts'
import type { Ending } from '../../src/store/agenda/outcomes.ts'
import type { Database } from '../../src/store/database/database.ts'
import { sql } from '../../src/store/database/sql.ts'
import { insertNode } from '../../src/store/nodes/nodes.ts'
import { insertTasks, type NewTask } from '../../src/store/tasks/insert-tasks.ts'

export function aDefinition(changes: Partial<TaskDefinition> = {}): TaskDefinition {
  return {
    action: { type: 'sleep', duration: '0s' },
    schedule: { type: 'once', at: '2026-01-01T00:00:00Z' },
    anchorAt: '2026-01-01T00:00:00.000Z',
    seed: null,
    ...TASK_DEFAULTS,
    projectId: DEFAULT_PROJECT_ID,
    traceparent: null,
    secrets: null,
    ...changes,
  }
}

/** Who makes the tasks, as the audit log names it. */
const ORIGIN = originOf({ projectId: DEFAULT_PROJECT_ID, actor: { kind: 'system', part: 'test' } })

export interface TaskInAgenda {
  readonly taskId: string
  readonly runId: string
  readonly shard: number
}

/** Tasks with one scheduled row each, due when told (default a second ago). */
export async function tasksInAgenda(
  db: Database,
  {
    count = 1,
    dueAt = Date.now() - 1_000,
    definition = {},
    delayMs = null,
    projectId = DEFAULT_PROJECT_ID,
  }: {
    count?: number
    dueAt?: number
    definition?: Partial<TaskDefinition>
    delayMs?: number | null
    projectId?: string
  } = {},
): Promise<TaskInAgenda[]> {
  const tasks = Array.from({ length: count }, (): NewTask => {
    const id = uuidv7()
    return {
      id,
      projectId,
      key: null,
      name: null,
      owner: null,
      tags: [],
      definition: aDefinition(definition),
      createdAt: Date.now(),
      shard: shardOf(id),
      lane: laneOf(projectId, aDefinition(definition)).id,
      first: { runId: uuidv7(), at: Math.floor(dueAt), delayMs },
    }
  })
  await db.run(insertTasks({ tasks, remember: null, origin: { ...ORIGIN, projectId } }))
  return tasks.map(({ id, shard, first }) => ({ taskId: id, runId: first?.runId as string, shard }))
}

/** A node in the table, without a process behind it. */
export async function aNode(db: Database, roles: readonly string[] = ['worker']): Promise<string> {
  const id = uuidv7()
  await db.run(insertNode({ id, name: 'test', version: '0', roles, concurrency: 10 }))
  return id
}

/** Gives every shard to a node; returns the shards with their fences. */
export async function ownShards(db: Database, nodeId: string): Promise<{ id: number; fence: number }[]> {
  return db.run(
    sql<{
      id: number
      fence: number
    }>`update shard set owner = ${nodeId}, fence = fence + 1 returning id, fence`,
  )
}

/** A live row as the scheduler would read it. */
export async function dueRow(db: Database, runId: string): Promise<DueRow> {
  const [row] = await db.run(sql<DueRow>`
    select run_id as "runId", task_id as "taskId", shard, kind, state, wake_at as "wakeAt", scheduled_for as "scheduledFor", version,
           count_of(ordinal_base, ordinal) as ordinal, fence, attempt, losses, lane, priority
    from agenda where run_id = ${runId}`)
  if (!row) throw new Error(`run ${runId} is not on the agenda`)
  return row
}

/** The successful end of a run, written by the holder of this fence. */
export const completed = (runId: string, fence: number): Ending & { startedAt: number } => ({
  runId,
  fence,
  state: 'completed',
  outcome: 'completed',
  startedAt: Date.now(),
  endedAt: Date.now(),
  output: null,
  error: null,
  nextRunId: null,
})

export interface LiveRow {
  readonly state: string
  readonly fence: number
  readonly attempt: number
  readonly losses: number
  readonly workerId: string | null
}

export async function liveRow(db: Database, runId: string): Promise<LiveRow | undefined> {
  const [row] = await db.run(
    sql<LiveRow>`select state, fence, attempt, losses, worker_id as "workerId" from agenda where run_id = ${runId}`,
  )
  return row
}

export async function endedRow(
  db: Database,
  runId: string,
): Promise<{ state: string; outcome: string | null; reason: string | null } | undefined> {
  const [row] = await db.run(
    sql<{
      state: string
      outcome: string | null
      reason: string | null
    }>`select state, outcome, reason from run where run_id = ${runId}`,
  )
  return row
}
