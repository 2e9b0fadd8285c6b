/** The request of a button as a curl command. */
import { REASON_HEADER } from '../../src/core/audit-log/reason.ts'
import { projectHeader } from '../api/chosen-project.ts'
import { meQuery } from '../api/me.ts'
import { queryClient } from '../api/query-client.ts'
import { shellLines } from './shell.ts'

export interface TwinRequest {
  readonly method: 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly ifMatch?: string
  readonly reason?: string
}

/** A server with keys requires one; it is read from the same variable as by the command line. */
const AUTHORIZATION = ' \\\n  -H "authorization: Bearer $BELFRY_KEY"'

export function curlOf({ method, path, body, ifMatch, reason }: TwinRequest): string {
  const isOpen = queryClient.getQueryData(meQuery.queryKey)?.kind === 'anonymous'
  const headers = Object.entries(projectHeader(path)).map(([name, value]) => ['-H', `${name}: ${value}`])
  const line = shellLines([
    ['curl', '-X', method, `${location.origin}${path}`],
    ...headers,
    ...(ifMatch === undefined ? [] : [['-H', `if-match: ${ifMatch}`]]),
    ...(reason === undefined ? [] : [['-H', `${REASON_HEADER}: ${reason}`]]),
    ...(body === undefined
      ? []
      : [
          ['-H', 'content-type: application/json'],
          ['-d', JSON.stringify(body, null, 2)],
        ]),
  ])
  return isOpen ? line : line + AUTHORIZATION
}
