/**
 * Creates thousands of tasks in one request. Validating, storing and presenting them takes a second of work; it yields to other
 * work of the process, so that runs due on this node still start on time.
 */

import type { z } from 'zod'
import { located, Refusal } from '../../core/errors.ts'
import type { Lane } from '../../core/run/lane.ts'
import type { TaskCreation } from '../../core/task/task-input.ts'
import { mapInTurns, Turns } from '../../runtime/turns.ts'
import type { Queryable } from '../../store/database/database.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import type { NewTask } from '../../store/tasks/insert-tasks.ts'
import type { TaskRow } from '../../store/tasks/tasks.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import type { Context } from '../context.ts'
import {
  type Answer,
  answerOnce,
  type FirstAnswer,
  PiecewiseRepeatable,
  type Repeatable,
  remember,
} from '../idempotency.ts'
import { admitTasks, limitsStorage } from '../limits/admit-tasks.ts'
import { limitsOf, type TaskLimits } from '../limits/task-limits.ts'
import { keepTokens, withoutTokens } from '../secrets/slack-tokens.ts'
import { checkedItems, type ListItem } from '../validation/checked-items.ts'
import { type Batch, batchOf, newTask, rowOf, storageOf, storeTasks } from './create-task.ts'
import { withWaits } from './task-files.ts'

/** Tasks as they were sent, not validated yet. */
export interface CreateManyRequest {
  readonly items: readonly ListItem[]
  /** The schema that each task is validated against. */
  readonly schema: z.ZodType<TaskCreation>
  readonly traceparent: string | null
  readonly idempotencyKey: string | null
  /** The method and URL of the request, which are part of its fingerprint for the idempotency key. */
  readonly address: { readonly method: string; readonly url: string }
  /** Turns a stored task into its part of the response, as JSON text. */
  readonly write: (row: TaskRow) => string
}

/**
 * The maximum number of tasks per statement, and of bytes; a longer task is stored alone. Preparing a statement takes a
 * millisecond.
 */
const CHUNK = 500
/** The database is idle until the first chunk is ready, so the first chunk is small. */
const FIRST_CHUNK = 100
const CHUNK_BYTES = 512 * 1024
/** The response to a longer request is written while it is sent, and never held in memory as a whole. */
const MAX_ANSWERED_AT_ONCE_BYTES = 1024 * 1024
/** Minimum size of a piece, so that many short tasks do not make as many packets. */
const MIN_PIECE_CHARACTERS = 64 * 1024

const pointerTo = (index: number) => `/tasks/${index}`

/** Stores all of the tasks, or none. */
export async function createManyTasks(context: Context, request: CreateManyRequest): Promise<Answer> {
  const { items, traceparent, write } = request
  const { inputs: given, repeat } = await validated(request)
  const sizes = items.map(({ bytes }) => bytes)
  const ends = chunkEnds(sizes)
  const isLong = sizes.reduce((sum, size) => sum + size, 0) > MAX_ANSWERED_AT_ONCE_BYTES
  let hints: DueHint[] = []
  const answer = await answerOnce(context, repeat, async () => {
    const limits = await limitsOf(context)
    const { inputs, tokens } = await withoutTokens(context, given)
    const { tasks: wanted, lanes } = await made(context, inputs, { traceparent, limits })
    const use = limitsStorage(limits.project) ? storageOf(wanted) : null
    let noteLanes = () => {}
    const first = await withDeadlockRetry(context.db, async (tx) => {
      if (use) await admitTasks(tx, context, limits.project, use)
      if (tokens.size > 0) await keepTokens(tx, context, tokens)
      const tasks = await withWaits(tx, context.projectId, wanted, pointerTo)
      hints = tasks.flatMap(({ shard, first }) =>
        first ? { shard, at: first.at + (first.jitterMs ?? 0) } : [],
      )
      const stored = await storeAll(context, tx, { tasks, ends, repeat, write, isLong })
      noteLanes = await context.lanes.register(tx, await context.lanes.unregistered(tx, lanes))
      return stored
    })
    noteLanes()
    return first
  })
  if (!answer.isReplay) context.wakeUps.announceDue(hints)
  return answer
}

/** The tasks to store, and their lanes. */
async function made(
  context: Context,
  inputs: readonly TaskCreation[],
  { traceparent, limits }: { readonly traceparent: string | null; readonly limits: TaskLimits },
): Promise<{ tasks: readonly NewTask[]; lanes: readonly Lane[] }> {
  const made = await mapInTurns(inputs, (input, i) =>
    locate(i, () => newTask(context, input, { traceparent, limits })),
  )
  const lanes = new Map(made.map(({ lane }) => [lane.id, lane]))
  return { tasks: made.map(({ task }) => task), lanes: [...lanes.values()] }
}

/** Validates all tasks before anything is stored, and reports all problems, up to a bound. */
async function validated({
  items,
  schema,
  idempotencyKey,
  address,
}: CreateManyRequest): Promise<{ inputs: TaskCreation[]; repeat: Repeatable | null }> {
  const repeat = idempotencyKey === null ? null : new PiecewiseRepeatable(idempotencyKey, address)
  repeat?.add('{"tasks":[')
  const inputs = await checkedItems(items, {
    schema,
    member: 'tasks',
    onItem: (item, index) => repeat?.add(`${index === 0 ? '' : ','}${JSON.stringify(item)}`),
  })
  repeat?.add(']}')
  return { inputs, repeat: repeat?.end() ?? null }
}

/** Returns the index at which each chunk of tasks ends. */
function chunkEnds(sizes: readonly number[]): number[] {
  const ends: number[] = []
  let [begin, bytes] = [0, 0]
  for (const [index, size] of sizes.entries()) {
    bytes += size
    const most = begin === 0 ? FIRST_CHUNK : CHUNK
    if (index === begin || (index - begin < most && bytes <= CHUNK_BYTES)) continue
    ends.push(index)
    begin = index
    bytes = size
  }
  return [...ends, sizes.length]
}

interface Storing {
  readonly tasks: readonly NewTask[]
  readonly ends: readonly number[]
  readonly repeat: Repeatable | null
  readonly isLong: boolean
  readonly write: CreateManyRequest['write']
}

/**
 * Stores the tasks. The body of the response is JSON text, or pieces of it if it is long and need not be stored for an
 * idempotency key.
 */
async function storeAll(context: Context, tx: Queryable, storing: Storing): Promise<FirstAnswer> {
  const { tasks, repeat, write, isLong } = storing
  const isStreamed = isLong && !repeat
  const answer: string[] = []
  const writeChunk = async (chunk: readonly NewTask[]) => {
    const texts = await mapInTurns(chunk, (task) => write(rowOf(task)))
    answer.push(texts.join(','))
  }
  await storeChunks(tx, batchesOf(context, storing), isStreamed ? async () => {} : writeChunk)
  if (isStreamed) return { status: 201, body: writtenTasks(tasks, write) }
  const first = { status: 201, body: `{"items":[${answer.join(',')}]}` }
  if (repeat) await remember(tx, context.projectId, repeat, first)
  return first
}

/**
 * Stores chunk after chunk. While the database stores one, its part of the response is written and the next statement is
 * prepared, so that neither side waits for the other.
 */
async function storeChunks(
  tx: Queryable,
  batches: Iterator<Batch, void>,
  meanwhile: (chunk: readonly NewTask[]) => Promise<void>,
): Promise<void> {
  for (let next = batches.next(); !next.done; ) {
    const batch = next.value
    const stored = storeTasks(tx, batch)
    const prepared = meanwhile(batch.tasks).then(() => batches.next())
    ;[next] = await Promise.all([prepared, stored])
  }
}

function* batchesOf(context: Context, { tasks, ends }: Storing): Generator<Batch, void> {
  for (const [n, end] of ends.entries()) {
    const from = ends[n - 1] ?? 0
    const pointer = (i: number) => pointerTo(from + i)
    yield batchOf(context, { tasks: tasks.slice(from, end), remembered: null, pointer })
  }
}

/** Returns the response as JSON text, piece by piece, yielding to other work of the process. */
async function* writtenTasks(
  tasks: readonly NewTask[],
  write: CreateManyRequest['write'],
): AsyncGenerator<string> {
  const turns = new Turns()
  let piece = '{"items":['
  for (const [i, task] of tasks.entries()) {
    piece += `${i === 0 ? '' : ','}${write(rowOf(task))}`
    if (piece.length >= MIN_PIECE_CHARACTERS) {
      yield piece
      piece = ''
    }
    if (turns.isOver) await turns.pass()
  }
  yield `${piece}]}`
}

/** Prefixes errors with the pointer to the task. */
function locate<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const problems = located(pointerTo(index), error.problems)
    throw new Refusal(error.code, `${pointerTo(index)}: ${error.message}`, {
      problems,
      extra: { ...error.extra },
    })
  }
}
