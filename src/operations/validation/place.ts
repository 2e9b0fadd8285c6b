/** Where in a request something stands, as problem documents name it. */

import { jsonPointer } from '../../core/values/json-pointer.ts'

export type RequestPart = 'body' | 'querystring' | 'params' | 'headers'

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
