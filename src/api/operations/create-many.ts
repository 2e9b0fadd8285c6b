/**
 * Making thousands of tasks by one call. Checking, writing and answering them takes a second of work: it is
 * done in turns with everything else, so that what is due on this node still starts on time.
 */

import { type Problem, Refusal } from '../../core/errors.ts'
import { mapInTurns } from '../../runtime/turns.ts'
import { changing } from '../../store/changing.ts'
import type { Queryable } from '../../store/database.ts'
import type { DueHint } from '../../transport/wake-ups.ts'
import { presentTask } from '../present.ts'
import { CreateTask } from '../schemas/task.ts'
import { invalidInput, MAX_PROBLEMS, parse } from '../validation/parse.ts'
import type { Context } from './context.ts'
import { newTask, rowOf, storeTasks } from './create-task.ts'
import { type Answer, answerOnce, type FirstAnswer, type Repeatable, remember } from './idempotency.ts'
import { limitsOf } from './project.ts'

/** Tasks as they were sent: nothing has been checked yet. */
export interface CreateManyRequest {
  readonly items: readonly unknown[]
  readonly traceparent: string | null
  readonly repeat: Repeatable | null
}

/** Stored by one statement. */
const CHUNK = 200

const pointerTo = (index: number) => `/tasks/${index}`

/** Stores tasks, all or none. */
export async function createManyTasks(context: Context, request: CreateManyRequest): Promise<Answer> {
  const inputs = await validated(request.items)
  let hints: DueHint[] = []
  const answer = await answerOnce(context, request.repeat, () =>
    changing(context.db, async (tx) => {
      hints = []
      return storeAll(context, tx, { ...request, inputs, hints })
    }),
  )
  if (!answer.isReplay) context.wakeUps.announceDue(hints)
  return answer
}

/** Everything that is wrong is told, up to a bound, before anything is stored. */
async function validated(items: readonly unknown[]): Promise<CreateTask[]> {
  const problems: Problem[] = []
  const inputs = await mapInTurns(items, (item, index) => {
    if (problems.length >= MAX_PROBLEMS) return undefined
    const parsed = parse(CreateTask, item, 'body')
    if (parsed.ok) return parsed.value
    problems.push(...located(index, parsed.problems))
    return undefined
  })
  if (problems.length > 0) throw invalidInput(problems.slice(0, MAX_PROBLEMS))
  return inputs as CreateTask[]
}

interface Storing extends CreateManyRequest {
  readonly inputs: readonly CreateTask[]
  /** Takes in when the stored tasks are first due. */
  readonly hints: DueHint[]
}

/** The answer's body is JSON text: made of ten thousand tasks at once it would take its time at once. */
async function storeAll(context: Context, tx: Queryable, storing: Storing): Promise<FirstAnswer> {
  const { inputs, traceparent, repeat, hints } = storing
  const limits = await limitsOf(context)
  const texts: string[] = []
  for (let from = 0; from < inputs.length; from += CHUNK) {
    const made = await mapInTurns(inputs.slice(from, from + CHUNK), (input, i) =>
      locate(from + i, () => newTask(context, input, { traceparent, limits })),
    )
    const tasks = made.map(({ task }) => task)
    const lanes = made.map(({ lane }) => lane)
    await storeTasks(context, tx, { tasks, lanes, remember: null, pointer: (i) => pointerTo(from + i) })
    texts.push(...(await mapInTurns(tasks, (task) => JSON.stringify(presentTask(rowOf(task))))))
    for (const { shard, first } of tasks)
      if (first) hints.push({ shard, at: first.at + (first.jitterMs ?? 0) })
  }
  const answer = { status: 201, body: `{"items":[${texts.join(',')}]}` }
  if (repeat) await remember(tx, context.projectId, repeat, answer)
  return answer
}

/** Puts the place of the task in front of what was wrong with it. */
function locate<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    const problems = located(index, error.problems)
    throw new Refusal(error.code, `${pointerTo(index)}: ${error.message}`, {
      problems,
      extra: { ...error.extra },
    })
  }
}

const located = (index: number, problems: readonly Problem[]): Problem[] =>
  problems.map((problem) => ({ ...problem, pointer: pointerTo(index) + problem.pointer }))
