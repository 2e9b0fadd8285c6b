/** docs/reference/permissions.md, written from the routes. */
import type { AccessedRoute } from '../../src/api/http/authentication.ts'
import { type Access, neededRole } from '../../src/core/access/role.ts'
import { table } from '../project/task-fields-page.ts'

const OPENING = `# Permissions

The role that each request needs ([roles](access.md#roles)). \`public\` requests need no API key; requests of workers need the
token of a registered worker. A role of the installation counts in every project.

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
  return access === 'token' ? 'token of a worker' : neededRole(access)
}
