import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { violatedConstraint } from '../../store/database.ts'
import { insertTasks, type NewTask, type TaskRow } from '../../store/tasks.ts'
import type { CreateTask } from '../schemas/task.ts'
import type { Context } from './context.ts'
import { defineTask, firstRow } from './define-task.ts'
import { type Answer, type Repeatable, remember, replay } from './idempotency.ts'

export interface CreateRequest {
  readonly inputs: readonly CreateTask[]
  readonly traceparent: string | null
  readonly repeat: Repeatable | null
  /** Where each input stands in the request, for refusals: '' for one task, '/tasks/7' in a list. */
  readonly pointer: (index: number) => string
  /** Turns the stored tasks into the body of the answer. */
  readonly present: (rows: TaskRow[]) => unknown
}

/** Stores tasks, all or none, and answers once they are committed. */
export async function createTasks(context: Context, request: CreateRequest): Promise<Answer> {
  const { projectId, wakeUps, clock } = context
  const tasks = request.inputs.map((input, index) =>
    locate(request.pointer(index), () =>
      newTask(input, projectId, Math.floor(clock.now()), request.traceparent),
    ),
  )
  const body = request.present(tasks.map(rowOf))
  const stored = await insertAll(context, tasks, request, body)
  if (stored === 0 && request.repeat) {
    const answer = await replay(context, request.repeat)
    if (answer) return answer
  }
  wakeUps.announceDue(tasks.flatMap(({ shard, first }) => (first ? [{ shard, at: first.at }] : [])))
  return { status: 201, body, isReplay: false }
}

async function insertAll(
  context: Context,
  tasks: readonly NewTask[],
  { repeat }: CreateRequest,
  body: unknown,
): Promise<number> {
  try {
    const [result] = await context.db.run(insertTasks(context.projectId, tasks, remember(repeat, 201, body)))
    return result?.stored ?? 0
  } catch (error) {
    if (violatedConstraint(error) !== 'task_by_key') throw error
    // A repetition collides with the task that the first request made: it gets that answer.
    if (repeat && (await replay(context, repeat))) return 0
    throw keyInUse(tasks, error)
  }
}

function newTask(input: CreateTask, projectId: string, now: number, traceparent: string | null): NewTask {
  const id = uuidv7()
  const definition = defineTask(input, { now, traceparent })
  const first = firstRow(definition, now)
  return {
    id,
    projectId,
    key: input.key ?? null,
    name: input.name ?? null,
    owner: input.owner ?? null,
    tags: [...new Set(input.tags ?? [])],
    definition,
    createdAt: now,
    shard: shardOf(id),
    first: first && { runId: uuidv7(), ...first },
  }
}

/** A task that was just made, as reading it would show it. */
function rowOf({ shard: _, first, ...task }: NewTask): TaskRow {
  return {
    ...task,
    version: 1,
    updatedAt: task.createdAt,
    pausedAt: null,
    cancelledAt: null,
    deletedAt: null,
    state: 'scheduled',
    nextAt: first?.at ?? null,
    openRun: null,
  }
}

/** Puts the place of the task in front of what was wrong with it. */
function locate<T>(pointer: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal) || pointer === '') throw error
    const problems = error.problems.map((problem) => ({ ...problem, pointer: pointer + problem.pointer }))
    throw new Refusal(error.code, `${pointer}: ${error.message}`, { problems, extra: { ...error.extra } })
  }
}

function keyInUse(tasks: readonly NewTask[], error: unknown): Refusal {
  const detail = (error as { detail?: string }).detail ?? ''
  const key =
    tasks.find((task) => task.key !== null && detail.includes(`, ${task.key})`))?.key ?? tasks[0]?.key
  return new Refusal(
    'key_in_use',
    `The key '${key}' names another task. Change that one with PUT /v1/tasks/by-key/${encodeURIComponent(key ?? '')}, or choose another key.`,
  )
}
