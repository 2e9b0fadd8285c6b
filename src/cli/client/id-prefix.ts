/** Ids can be given by their first characters, so that users need not copy a whole id from a list. */
import type { FoundIds } from '../../api/resources/ids/schemas.ts'
import { printable } from '../../core/values/printable.ts'
import { CliError, EXIT } from '../exit.ts'
import { RefusedError } from './problem.ts'
import { queryOf, type Server } from './server.ts'

/** Ids created within about a minute have the same beginning, so fewer characters would hardly ever be unique. */
const LEAST_PREFIX = 8

const SHAPE = '01234567-0123-0123-0123-012345678901'

/** Whether the text can be the beginning of an id, dashes included. */
export function isIdPrefix(text: string): boolean {
  if (text.length < LEAST_PREFIX || text.length >= SHAPE.length) return false
  return [...text].every((character, place) =>
    SHAPE[place] === '-' ? character === '-' : /[0-9a-f]/i.test(character),
  )
}

/**
 * Returns the id of the run that `ref` identifies. Text that cannot be the beginning of an id is passed on to the server, which
 * rejects it.
 */
export async function findRunId(server: Server, ref: string): Promise<string> {
  if (!isIdPrefix(ref)) return ref
  const id = await idOfPrefix(server, 'run', ref)
  if (id !== null) return id
  throw new CliError(
    `No run has an id that starts with '${ref}'.`,
    'To list runs: belfry run list',
    EXIT.notFound,
  )
}

/** Returns the one id with this prefix; null if there is none. */
export async function idOfPrefix(
  server: Server,
  type: 'task' | 'run' | 'file',
  prefix: string,
): Promise<string | null> {
  if (!isIdPrefix(prefix)) return null
  const { items, hasMore } = await found(server, type, prefix)
  const [first, other] = items
  if (first === undefined) return null
  if (other === undefined) return first.id
  const many = hasMore ? `More than ${items.length}` : items.length
  throw new CliError(
    `${many} ${type}s have an id that starts with '${prefix}'.`,
    'Give more characters of the id.',
    EXIT.conflict,
    { why: items.map(({ id, name }) => `${id}  ${printable(name ?? '')}`.trimEnd()) },
  )
}

/** Servers of earlier releases do not have this search. */
async function found(server: Server, type: string, prefix: string): Promise<FoundIds> {
  try {
    return await server.get<FoundIds>(`/v1/ids${queryOf({ type, prefix })}`)
  } catch (error) {
    if (error instanceof RefusedError && error.problem.status === 404) return { items: [], hasMore: false }
    throw error
  }
}
