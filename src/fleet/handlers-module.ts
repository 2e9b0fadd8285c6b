/**
 * Loads handlers for `belfry worker --handlers MODULE`: the functions that a module exports, or that its default export
 * contains.
 */
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Handler } from '../sdk/worker.ts'

/** The handlers of a module, by name. */
export type Handlers = ReadonlyMap<string, Handler<never>>

/** The module cannot be used; the message says why. */
export class HandlersError extends Error {
  override readonly name = 'HandlersError'
}

export async function loadHandlers(path: string, cwd: string): Promise<Handlers> {
  const file = resolve(cwd, path)
  let exported: Record<string, unknown>
  try {
    exported = (await import(pathToFileURL(file).href)) as Record<string, unknown>
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw new HandlersError(`The module ${file} cannot be loaded: ${message}`, { cause: error })
  }
  const handlers = new Map([...functionsOf(exported['default']), ...functionsOf(exported)])
  // `default` is not a name that a task would use.
  handlers.delete('default')
  if (handlers.size === 0)
    throw new HandlersError(
      `The module ${file} exports no functions; each function that it exports is a handler.`,
    )
  return handlers
}

function functionsOf(members: unknown): [string, Handler<never>][] {
  if (typeof members !== 'object' || members === null) return []
  return Object.entries(members).flatMap(([name, member]): [string, Handler<never>][] =>
    typeof member === 'function' ? [[name, member as Handler<never>]] : [],
  )
}
