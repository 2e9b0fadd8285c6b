import type { Problem } from '../../core/errors.ts'
import type { App } from '../app.ts'
import { invalidInput } from './parse.ts'
import { placeIn, type RequestPart } from './place.ts'

/** Deeper JSON serves nobody and makes whoever walks it later run out of stack. */
const MAX_DEPTH = 64
/** A large body is looked through in turns with everything else that the process does. */
const VALUES_A_TURN = 5_000

/** PostgreSQL stores neither NUL nor half a surrogate pair; a request that holds one is refused, not mangled. */
export function guardText(app: App): void {
  app.addHook('preValidation', async ({ body, params, query }) => {
    const problem =
      (await firstBadText('body', body)) ??
      (await firstBadText('params', params)) ??
      (await firstBadText('querystring', query))
    if (problem) throw invalidInput([problem])
  })
}

async function firstBadText(part: RequestPart, root: unknown): Promise<Problem | undefined> {
  const stack: { value: unknown; path: readonly string[] }[] = [{ value: root, path: [] }]
  let seen = 0
  for (let item = stack.pop(); item; item = stack.pop()) {
    if (++seen % VALUES_A_TURN === 0) await new Promise(setImmediate)
    const { value, path } = item
    const refuse = (detail: string) => ({ pointer: placeIn(part, path.slice(0, 10)), detail })
    if (typeof value === 'string' && !isStorable(value))
      return refuse('contains a NUL character or half of a surrogate pair, which cannot be stored')
    if (typeof value !== 'object' || value === null) continue
    if (path.length === MAX_DEPTH) return refuse(`is nested deeper than ${MAX_DEPTH} levels`)
    for (const [key, member] of Object.entries(value)) {
      if (!isStorable(key)) return refuse('has a field name that cannot be stored')
      if (typeof member === 'string' || (typeof member === 'object' && member !== null))
        stack.push({ value: member, path: [...path, key] })
    }
  }
  return undefined
}

const LONE_SURROGATE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/

function isStorable(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text)
}
