/** docs/reference/permissions.md, written from the routes. */
import type { AccessedRoute } from '../../src/api/http/authentication.ts'
import { type Access, neededRole } from '../../src/core/access/role.ts'
import { table } from '../project/task-fields-page.ts'

const OPENING = `# Permissions

The role that each request needs ([roles](access.md#roles)). \`public\` requests need no API key. A role of the installation counts
in every project. Requests with \`token\` need the token of a registered [worker](worker-protocol.md), except \`/health_check\` and
\`/update_status\`, which need [that of an attempt](compatibility.md#reports-of-attempts). \`/v1/worker/log\` accepts both.

This page is generated from the routes by \`npm run reference\`.

`

export function permissionsPage(routes: readonly AccessedRoute[]): string {
  const shown = routes.filter(({ method }) => method !== 'HEAD')
  const rows = shown
    .toSorted((a, b) => (`${a.url} ${a.method}` < `${b.url} ${b.method}` ? -1 : 1))
    .map(({ method, url, access }) => [
      `\`${method}\``,
      `\`${url.replace(/:(\w+)/g, '{$1}')}\``,
      roleFor(access),
    ])
  return `${OPENING}${table([['Method', 'Path', 'Role'], ...rows])}\n`
}

function roleFor(access: Access): string {
  if (access === 'public') return 'public'
  if (access === 'self') return 'any'
  return access === 'token' ? 'token' : neededRole(access)
}
