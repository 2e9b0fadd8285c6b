/** The request that a button sends, for a terminal. */
import { shellLines } from './shell.ts'

export interface TwinRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly ifMatch?: string
}

export function curlOf({ method, path, body, ifMatch }: TwinRequest): string {
  return shellLines([
    ['curl', '-X', method, `${location.origin}${path}`],
    ...(ifMatch === undefined ? [] : [['-H', `if-match: ${ifMatch}`]]),
    ...(body === undefined
      ? []
      : [
          ['-H', 'content-type: application/json'],
          ['-d', JSON.stringify(body, null, 2)],
        ]),
  ])
}
