/** Finds a task by its id, the beginning of its id, its key, or its name if only one task has it. */
import type { Task } from '../../api/resources/tasks/schemas.ts'
import { isUuid } from '../../core/ids.ts'
import { printable } from '../../core/values/printable.ts'
import { CliError, EXIT } from '../exit.ts'
import { idOfPrefix } from './id-prefix.ts'
import { RefusedError } from './problem.ts'
import { queryOf, type Server } from './server.ts'

/** Maximum number of tasks whose name contains the text that are searched for an exact match. */
const LOOKED_AT = 200

export type TaskRef = string

export async function findTask(server: Server, ref: TaskRef, include?: string): Promise<Task> {
  const query = queryOf({ include })
  if (isUuid(ref)) return server.get<Task>(`/v1/tasks/${ref}${query}`)
  const byKey = await tasksByKey(server, ref, query)
  if (byKey) return byKey
  const named = await tasksByName(server, ref, include)
  const [task, other] = named
  if (task && !other) return task
  if (task) throw ambiguous(ref, named)
  const id = await idOfPrefix(server, 'task', ref)
  if (id !== null) return server.get<Task>(`/v1/tasks/${id}${query}`)
  throw new CliError(
    `No task has the id, key or name '${printable(ref)}'.`,
    'To list tasks: belfry task list',
    EXIT.notFound,
  )
}

async function tasksByKey(server: Server, key: string, query: string): Promise<Task | null> {
  // HTTP clients remove these segments from a path; no key has these values.
  if (['', '.', '..'].includes(key)) return null
  try {
    return await server.get<Task>(`/v1/tasks/by-key/${encodeURIComponent(key)}${query}`)
  } catch (error) {
    if (error instanceof RefusedError && error.problem.status < 500) return null
    throw error
  }
}

async function tasksByName(server: Server, name: string, include: string | undefined): Promise<Task[]> {
  if (name === '' || name.length > 200) return []
  const { items } = await server.get<{ items: Task[] }>(
    `/v1/tasks${queryOf({ q: name, include, limit: LOOKED_AT })}`,
  )
  return items.filter((task) => task.name === name)
}

function ambiguous(name: string, tasks: readonly Task[]): CliError {
  return new CliError(
    `${tasks.length} tasks have the name '${printable(name)}'.`,
    'Use the id instead.',
    EXIT.conflict,
    { why: tasks.slice(0, 10).map(({ id, state, createdAt }) => `${id}  ${state}, created ${createdAt}`) },
  )
}

/** Title of a task: its name, else its key, else its id. */
export function titleOf({ name, key, id }: Pick<Task, 'name' | 'key' | 'id'>): string {
  return printable(name ?? key ?? id)
}
