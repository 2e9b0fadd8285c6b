/** Names a place in a request, as problem documents do. */

import { jsonPointer } from '../../core/values/json-pointer.ts'

export type RequestPart = 'body' | 'querystring' | 'params' | 'headers'

/** Returns `/retry/limit` for the body, `?limit` for the query, `{id}` for the path, `if-match` for the headers. */
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
