import { Refusal } from '../../core/errors.ts'
import { shardOf, uuidv7 } from '../../core/ids.ts'
import { type Lane, laneOf } from '../../core/run/lane.ts'
import type { TaskCreation } from '../../core/task/task-input.ts'
import { type Queryable, violatedConstraint } from '../../store/database/database.ts'
import type { RememberedAnswer } from '../../store/tasks/answers.ts'
import { insertTasks, type NewTask } from '../../store/tasks/insert-tasks.ts'
import type { TaskRow } from '../../store/tasks/tasks.ts'
import { requireQueueOf } from '../access/require.ts'
import { originOf } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { type Answer, AnsweredMeanwhile, answerOnce, type Repeatable, toRemember } from '../idempotency.ts'
import { limitsStorage } from '../limits/admit-tasks.ts'
import { bytesOf, keepLimits, limitsOf, type TaskLimits } from '../limits/task-limits.ts'
import { keepTokens, withoutTokens } from '../secrets/slack-tokens.ts'
import { defineTask, firstRow } from './define-task.ts'
import { pausedFromStart } from './paused-from-start.ts'
import { refuseProgramLimits } from './program-limits.ts'
import { namesFiles, storeTogether } from './task-files.ts'

/** A task to create, with the data of its request. */
export interface CreateRequest {
  readonly input: TaskCreation
  readonly traceparent: string | null
  readonly repeat: Repeatable | null
  /** Turns the stored task into the body of the response. */
  readonly present: (row: TaskRow) => unknown
}

/** Stores a task and answers once it is committed. It takes one statement, unless something else has to be stored or locked with the task. */
export function createTask(context: Context, request: CreateRequest): Promise<Answer> {
  const { input: given, traceparent, repeat, present } = request
  return answerOnce(context, repeat, async () => {
    const limits = await limitsOf(context)
    const {
      inputs: [input = given],
      tokens,
    } = await withoutTokens(context, [given])
    const { task, lane } = newTask(context, input, { traceparent, limits })
    const { lanes } = context
    const isAlone =
      !namesFiles(task) &&
      !limitsStorage(limits.project) &&
      tokens.size === 0 &&
      (await lanes.unregistered(context.db, [lane])).length === 0
    let noteLane = () => {}
    const store = async (db: Queryable, tasks: readonly NewTask[]) => {
      if (tokens.size > 0) await keepTokens(db, context, tokens)
      const stored = await storeOne(context, db, { tasks, repeat, present })
      if (!isAlone) noteLane = await lanes.register(db, await lanes.unregistered(db, [lane]))
      return stored
    }
    const { answer, first } = isAlone
      ? await store(context.db, [task])
      : await storeTogether(context, task, { limits: limits.project, use: storageOf([task]), store })
    noteLane()
    if (first) context.wakeUps.announceDue([{ shard: task.shard, at: first.at + (first.jitterMs ?? 0) }])
    return answer
  })
}

/** Stores one task together with the response to its request. */
export async function storeOne(
  context: Context,
  db: Queryable,
  {
    tasks,
    repeat,
    present,
  }: Pick<CreateRequest, 'repeat' | 'present'> & { readonly tasks: readonly NewTask[] },
) {
  const [task] = tasks as readonly [NewTask]
  const answer = { status: 201, body: present(rowOf(task)) }
  const remembered = repeat && toRemember(repeat, answer)
  await storeTasks(db, batchOf(context, { tasks, remembered, pointer: AT_THE_TASK }))
  return { answer, first: task.first }
}

const AT_THE_TASK = () => ''

/** Returns what tasks add to the storage use of their project. */
export const storageOf = (tasks: readonly NewTask[]) => ({
  tasks: tasks.length,
  bytes: tasks.reduce((sum, { definition }) => sum + bytesOf(definition), 0),
})

/** Tasks to store together. The lanes of their runs are registered afterwards, in the same transaction. */
interface Stored {
  readonly tasks: readonly NewTask[]
  readonly remembered: RememberedAnswer | null
  /** Returns the pointer to a task in the request, for error messages: '' for a single task, '/tasks/7' in a list. */
  readonly pointer: (index: number) => string
}

/** Tasks to store, with the prepared statement. */
export interface Batch extends Stored {
  readonly statement: ReturnType<typeof insertTasks>
}

export const batchOf = (context: Context, stored: Stored): Batch => ({
  ...stored,
  statement: insertTasks({ tasks: stored.tasks, remember: stored.remembered, origin: originOf(context) }),
})

export async function storeTasks(db: Queryable, { tasks, pointer, statement }: Batch): Promise<void> {
  try {
    const [result] = await db.run(statement)
    if (result?.stored !== tasks.length) throw new AnsweredMeanwhile()
  } catch (error) {
    if (violatedConstraint(error) === 'task_by_key') throw keyInUse(tasks, error, pointer)
    throw error
  }
}

/** Turns the input into the task to store. */
export function newTask(
  context: Context,
  input: TaskCreation,
  { traceparent, limits }: { traceparent: string | null; limits: TaskLimits },
): { task: NewTask; lane: Lane } {
  const { projectId, clock } = context
  const id = uuidv7()
  const now = Math.floor(clock.now())
  const definition = defineTask(input, { now, traceparent, projectId, seed: input.key ?? id })
  requireQueueOf(context, definition)
  const lane = laneOf(projectId, definition)
  const first = firstRow(definition, now)
  keepLimits(definition, limits, { now })
  refuseProgramLimits(definition, context)
  const task = {
    id,
    projectId,
    key: input.key ?? null,
    name: input.name ?? null,
    owner: input.owner ?? null,
    tags: [...new Set(input.tags ?? [])],
    definition,
    createdAt: now,
    shard: shardOf(id),
    lane: lane.id,
    first: first && { runId: uuidv7(), ...first },
    pause: null,
  }
  const isPaused = input.paused === true
  return { task: isPaused ? pausedFromStart(task, { reason: null, awaitsFiles: false }) : task, lane }
}

/**
 * Returns a task that was just created, in the form in which it would be read. The members are written out: omitting some from
 * a copy costs seven microseconds.
 */
export function rowOf(task: NewTask): TaskRow {
  return {
    id: task.id,
    projectId: task.projectId,
    key: task.key,
    name: task.name,
    owner: task.owner,
    tags: task.tags,
    version: 1,
    definition: task.definition,
    createdAt: task.createdAt,
    updatedAt: task.createdAt,
    pausedAt: task.pause ? task.createdAt : null,
    pauseReason: task.pause?.reason ?? null,
    resumeAt: null,
    skipUntil: null,
    skipReason: null,
    cancelledAt: null,
    deletedAt: null,
    state: task.pause ? 'paused' : 'scheduled',
    nextAt: task.first?.at ?? null,
    openRun: null,
  }
}

/** The database's error detail contains the key, in any language. */
function keyInUse(tasks: readonly NewTask[], error: unknown, pointer: (index: number) => string): Refusal {
  const message = (error as { detail?: string }).detail ?? ''
  const found = tasks.findLastIndex(({ key }) => key !== null && message.includes(`, ${key})`))
  const index = Math.max(found, 0)
  const key = tasks[index]?.key ?? ''
  const place = `PUT /v1/tasks/by-key/${encodeURIComponent(key)}`
  return new Refusal(
    'key_in_use',
    `The key '${key}' belongs to another task. Change that task with ${place}, or choose another key.`,
    { problems: [{ pointer: `${pointer(index)}/key`, detail: 'belongs to another task' }] },
  )
}
