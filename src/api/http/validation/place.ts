/** Where in a request something stands, as problem documents name it. */

export type RequestPart = 'body' | 'querystring' | 'params' | 'headers'

const MAX_STEP_CHARACTERS = 100

/** JSON pointer (RFC 6901) of a path; names that somebody made very long are cut. */
export function jsonPointer(path: readonly PropertyKey[]): string {
  return path.map((step) => `/${escapeStep(String(step).slice(0, MAX_STEP_CHARACTERS))}`).join('')
}

const escapeStep = (step: string) => step.replaceAll('~', '~0').replaceAll('/', '~1')

/** `/retry/limit` in the body, `?limit` of the query, `{id}` in the address, `if-match` among the headers. */
export function placeIn(part: RequestPart, path: readonly PropertyKey[]): string {
  if (part === 'body') return jsonPointer(path)
  const name = jsonPointer(path).slice(1)
  switch (part) {
    case 'querystring':
      return `?${name}`
    case 'params':
      return `{${name}}`
    case 'headers':
      return name
    default:
      return part satisfies never
  }
}
