import { shardOf, uuidv7 } from '../../src/core/ids.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/project.ts'
import { TASK_DEFAULTS, type TaskDefinition } from '../../src/core/task.ts'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/sql.ts'
import { insertTasks, type NewTask } from '../../src/store/tasks.ts'

const BATCH = 10_000

export interface Fill {
  readonly count: number
  readonly dueAt: (index: number) => number
  readonly definition?: Partial<TaskDefinition>
}

/** Puts tasks straight into the store, as the API does in bulk. */
export async function fill(db: Database, { count, dueAt, definition = {} }: Fill): Promise<void> {
  for (let done = 0; done < count; done += BATCH) {
    const tasks = Array.from({ length: Math.min(BATCH, count - done) }, (_, i) =>
      newTask(dueAt(done + i), definition),
    )
    await db.run(insertTasks(DEFAULT_PROJECT_ID, tasks, null))
  }
  await db.run(sql`analyze task`)
  await db.run(sql`analyze agenda`)
}

function newTask(at: number, definition: Partial<TaskDefinition>): NewTask {
  const id = uuidv7()
  const now = Date.now()
  return {
    id,
    projectId: DEFAULT_PROJECT_ID,
    key: null,
    name: null,
    owner: null,
    tags: [],
    createdAt: now,
    shard: shardOf(id),
    first: { runId: uuidv7(), at, delayMs: null },
    definition: {
      action: { type: 'sleep', duration: '0s' },
      schedule: { type: 'once', at: new Date(at).toISOString() },
      startAt: null,
      endAt: null,
      maxRuns: null,
      anchorAt: new Date(now).toISOString(),
      ...TASK_DEFAULTS,
      metadata: {},
      traceparent: null,
      ...definition,
    },
  }
}
