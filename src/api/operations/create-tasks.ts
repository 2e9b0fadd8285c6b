import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { laneOf } from '../../core/lane.ts'
import { violatedConstraint } from '../../store/database.ts'
import { insertTasks, type NewTask, type TaskRow } from '../../store/tasks.ts'
import type { CreateTask } from '../schemas/task.ts'
import type { Context } from './context.ts'
import { defineTask, firstRow } from './define-task.ts'
import {
  type Answer,
  AnsweredMeanwhile,
  answerOnce,
  type FirstAnswer,
  type Repeatable,
  toRemember,
} from './idempotency.ts'

/** Tasks to create, and what the request that asks for them brings along. */
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
export function createTasks(context: Context, request: CreateRequest): Promise<Answer> {
  return answerOnce(context, request.repeat, () => storeTasks(context, request))
}

async function storeTasks(context: Context, request: CreateRequest): Promise<FirstAnswer> {
  const { db, projectId, wakeUps, clock, lanes } = context
  const { inputs, traceparent, repeat, pointer, present } = request
  const now = Math.floor(clock.now())
  const tasks = inputs.map((input, index) =>
    locate(pointer(index), () => newTask(input, projectId, now, traceparent)),
  )
  const answer = { status: 201, body: present(tasks.map(rowOf)) }
  await lanes.ensure(
    db,
    tasks.map(({ definition }) => laneOf(projectId, definition)),
  )
  try {
    const [result] = await db.run(insertTasks(projectId, tasks, repeat && toRemember(repeat, answer)))
    if (result?.stored !== tasks.length) throw new AnsweredMeanwhile()
  } catch (error) {
    if (violatedConstraint(error) === 'task_by_key') throw keyInUse(tasks, error, pointer)
    throw error
  }
  wakeUps.announceDue(tasks.flatMap(({ shard, first }) => (first ? [{ shard, at: first.at }] : [])))
  return answer
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
    lane: laneOf(projectId, definition).id,
    first: first && { runId: uuidv7(), ...first },
  }
}

/** A task that was just made, as reading it would show it. */
function rowOf({ shard: _, lane: __, first, ...task }: NewTask): TaskRow {
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

/** The database names the key in its message, whatever its language. */
function keyInUse(tasks: readonly NewTask[], error: unknown, pointer: (index: number) => string): Refusal {
  const message = (error as { detail?: string }).detail ?? ''
  const found = tasks.findLastIndex(({ key }) => key !== null && message.includes(`, ${key})`))
  const index = Math.max(found, 0)
  const key = tasks[index]?.key ?? ''
  const place = `PUT /v1/tasks/by-key/${encodeURIComponent(key)}`
  return new Refusal(
    'key_in_use',
    `The key '${key}' names another task. Change that one with ${place}, or choose another key.`,
    { problems: [{ pointer: `${pointer(index)}/key`, detail: 'names another task' }] },
  )
}
