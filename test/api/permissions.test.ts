/** Who may call what: every route, with a key of every role, in its own project and in another, of a project and of the installation. */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AccessedRoute } from '../../src/api/http/authentication.ts'
import { createTestDatabase } from '../support/database.ts'
import { permissionsPage } from './permissions-page.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { app, send } = await createTestApp({ db })
/** Needs the cookie of a session, which no key replaces. */
const OF_SESSION = '/auth/sign-out-everywhere'
const ROUTES: readonly AccessedRoute[] = app.accessTable

/** Written out once more: what the product decides by is not what it is tested by. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  viewer: ['read'],
  operator: ['read', 'operate'],
  editor: ['read', 'operate', 'edit'],
  admin: ['read', 'operate', 'edit', 'administer', 'work'],
  worker: ['work'],
}
const BEYOND: Readonly<Record<string, readonly string[]>> = {
  viewer: ['inspect'],
  operator: ['inspect'],
  editor: ['inspect'],
  admin: ['inspect', 'installation'],
  worker: [],
}
const ROLES = Object.keys(ALLOWED)

const admin = {
  authorization: `Bearer ${(await send('POST', '/v1/keys', { name: 'admin', role: 'admin' })).body.key}`,
}
for (const name of ['own', 'other']) await send('POST', '/v1/projects', { name }, admin)
const keyOf = async (role: string, project: string | null): Promise<string> =>
  (await send('POST', '/v1/keys', { name: role, role, project }, admin)).body.key
const keys = await Promise.all(
  ROLES.map(async (role) => ({ role, own: await keyOf(role, 'own'), of: await keyOf(role, null) })),
)

type Answer = Awaited<ReturnType<typeof send>>

/** The address of a route, about things that do not exist, in a project of this name. */
const addressOf = (url: string, project: string) =>
  url
    .replace(/^(\/v1\/projects\/):name/, `$1${project}`)
    .replace(/\*$/, 'x')
    .replace(/:\w+/g, () => randomUUID())

const ask = ({ method, url }: AccessedRoute, project: string, headers: Record<string, string>) =>
  send(method, addressOf(url, project), undefined, headers)

/** The path names the project of these, so a header does not matter. */
const isNamed = ({ url }: AccessedRoute) => url.startsWith('/v1/projects/:name')

test('the page of permissions lists every route', async () => {
  await expect(permissionsPage(ROUTES)).toMatchFileSnapshot('../../docs/reference/permissions.md')
})

describe.each(
  ROUTES.filter(({ url }) => url !== OF_SESSION).map(
    (route) => [`${route.method} ${route.url}`, route] as const,
  ),
)('%s', (_, route) => {
  const { access } = route
  const isForAll = access === 'public' || access === 'self'

  test(`is for those who have the access ${access}`, async () => {
    const without = await ask(route, 'own', {})
    const bad = await ask(route, 'own', { authorization: 'Bearer bf_none' })
    const rows = []
    for (const { role, own, of } of keys) {
      const inOwn = await ask(route, 'own', { authorization: `Bearer ${own}`, 'belfry-project': 'own' })
      const inOther = await ask(route, 'other', { authorization: `Bearer ${own}`, 'belfry-project': 'other' })
      // Nothing may become of the projects that the other routes are asked about.
      const project = isNamed(route) ? 'default' : 'own'
      const ofAll = await ask(route, project, { authorization: `Bearer ${of}`, 'belfry-project': 'own' })
      rows.push([role, verdictOf(inOwn), isForAll ? verdictOf(inOther) : hiddenIn(inOther), verdictOf(ofAll)])
    }

    expect([verdictOf(without), verdictOf(bad)]).toEqual(
      Array(2).fill(access === 'public' ? 'allowed' : 'unauthenticated'),
    )
    expect(rows).toEqual(
      ROLES.map((role) => {
        // Without a body nobody can tell which thing is not there.
        const hidden = route.method === 'HEAD' ? 'not found' : 'unknown project'
        if (isForAll) return [role, 'allowed', 'allowed', 'allowed']
        if (access === 'token') return [role, 'unauthenticated', 'unauthenticated', 'unauthenticated']
        const inProject = ALLOWED[role]?.includes(access) ?? false
        const inInstallation = inProject || (BEYOND[role]?.includes(access) ?? false)
        return [role, inProject ? 'allowed' : 'forbidden', hidden, inInstallation ? 'allowed' : 'forbidden']
      }),
    )
  })
})

/** Whose operations look at the queue: what test/api/keys.test.ts shows of each of them. */
const OF_QUEUE = [
  'POST /v1/tasks',
  'PUT /v1/tasks/by-key/:key',
  'POST /v1/tasks/bulk',
  'PATCH /v1/tasks/:id',
  'DELETE /v1/tasks/:id',
  'POST /v1/tasks/:id/pause',
  'POST /v1/tasks/:id/resume',
  'POST /v1/tasks/:id/skip-next',
  'DELETE /v1/tasks/:id/skip-next',
  'POST /v1/tasks/:id/cancel',
  'POST /v1/tasks/:id/rollback',
  'POST /v1/tasks/:id/backfill',
  'POST /v1/backfills/:id/cancel',
  'POST /v1/tasks/:id/trigger',
  'POST /v1/runs/:id/retry',
  'POST /v1/runs/:id/cancel',
  'PATCH /v1/queues/:name',
  'POST /v1/queues/:name/pause',
  'POST /v1/queues/:name/resume',
  'POST /v1/keys',
  'POST /v1/keys/:id/rotate',
  'POST /v1/worker/register',
  'POST /v1/files',
  'PUT /v1/files/:id/content',
  'POST /submit_job',
  'POST /delete_job',
  'POST /tasks',
]

test('a key that is limited to queues changes nothing but what is in a queue', async () => {
  const queues = { name: 'limited', role: 'admin', project: null, queues: ['a'] }
  const { body } = await send('POST', '/v1/keys', queues, admin)
  const headers = { authorization: `Bearer ${body.key}`, 'belfry-project': 'own' }
  const changing = ROUTES.filter(
    ({ method, access }) => !/GET|HEAD/.test(method) && !/read|public|self|token/.test(access),
  )
  const named = ({ method, url }: AccessedRoute) => `${method} ${url}`

  const refused: string[] = []
  for (const route of changing) {
    const project = isNamed(route) ? 'default' : 'own'
    const { status, body } = await ask(route, project, headers)
    if (status === 403 && body.detail.includes('more than one queue')) refused.push(named(route))
  }

  expect(
    changing
      .filter(({ isOfQueue }) => isOfQueue)
      .map(named)
      .sort(),
  ).toEqual([...OF_QUEUE].sort())
  expect(refused.sort()).toEqual(
    changing
      .map(named)
      .filter((route) => !OF_QUEUE.includes(route))
      .sort(),
  )
  expect(refused).toContain('POST /v1/blackouts')
  expect(refused).toContain('POST /v1/members')
})

/** What is in another project. */
const hiddenIn = (answer: Answer): string =>
  answer.status === 404 && answer.body === null ? 'not found' : verdictOf(answer)

function verdictOf({ status, body }: Answer): string {
  if (status === 401) return 'unauthenticated'
  if (status === 403) return 'forbidden'
  if (status === 404 && /^Project \w+ does not exist\.$/.test(body?.detail)) return 'unknown project'
  return 'allowed'
}
