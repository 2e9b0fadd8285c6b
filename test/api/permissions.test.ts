/**
 * Who may call what: every route, with a key of every role and by a person of every role, in their own project and in another, with a
 * role of a project and of the installation.
 */
import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { AccessedRoute } from '../../src/api/http/authentication.ts'
import { importanceOf } from '../../src/api/http/load/importance.ts'
import { MASK } from '../../src/core/action/secret-rule.ts'
import { writeTargetReports } from '../../src/store/targets/target-reports.ts'
import { aNode } from '../support/agenda.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { permissionsPage } from './permissions-page.ts'
import { createTestApp } from './test-app.ts'

const { db } = await createTestDatabase()
const { app, send, signIn } = await createTestApp({ db })
/** They end the session that they are sent with, and no key replaces it. */
const OF_SESSION = ['/auth/sign-out', '/auth/sign-out-everywhere']
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

/** Workers authenticate with keys, so nobody is a member with this role. */
const MEMBER_ROLES = ROLES.filter((role) => role !== 'worker')
/** Where a person is not answered as a key with the same role is. */
const NOT_FOR_PEOPLE = ['POST /v1/worker/register']
/** Whose answer depends on how often they were asked: a project has two signing secrets at most. */
const COUNTED = ['POST /v1/signing-secrets']

type Headers = Record<string, string>

/** Somebody to ask as: with a role in the project `own`, or with the same role in the installation. */
interface Holder {
  readonly role: string
  readonly own: Headers
  readonly of: Headers
}

const adminKey = (await send('POST', '/v1/keys', { name: 'admin', role: 'admin' })).body.key
const admin = { authorization: `Bearer ${adminKey}` }
for (const name of ['own', 'second', 'other']) await send('POST', '/v1/projects', { name }, admin)

const asKey = async (role: string, project: string | null): Promise<Headers> => {
  const { body } = await send('POST', '/v1/keys', { name: role, role, project }, admin)
  return { authorization: `Bearer ${body.key}` }
}
const keys: readonly Holder[] = await Promise.all(
  ROLES.map(async (role) => ({ role, own: await asKey(role, 'own'), of: await asKey(role, null) })),
)

/** Signs in somebody who has these roles, by the name of the project; in the installation where there is none. */
async function asPerson(name: string, roles: Record<string, string>): Promise<Headers> {
  const email = `${name}@example.com`
  for (const [project, role] of Object.entries(roles)) {
    const [path, headers] =
      project === ''
        ? ['/v1/installation/members', admin]
        : ['/v1/members', { ...admin, 'belfry-project': project }]
    expect((await send('POST', path, { email, role }, headers)).status).toBe(201)
  }
  return signIn(email)
}
const people: readonly Holder[] = await Promise.all(
  MEMBER_ROLES.map(async (role) => ({
    role,
    own: await asPerson(`${role}-of-own`, { own: role }),
    of: await asPerson(`${role}-of-all`, { '': role }),
  })),
)
const mixed = await asPerson('mixed', { own: 'viewer', second: 'editor' })
const manager = await asPerson('manager', { '': 'viewer', own: 'admin' })

type Answer = Awaited<ReturnType<typeof send>>

/** The address of a route, about things that do not exist, in a project of this name. Names begin with a letter, ids may. */
const addressOf = (url: string, project: string) =>
  url
    .replace(/^(\/v1\/projects\/):name/, `$1${project}`)
    .replace(/\*$/, 'x')
    .replace(/:\w+/g, () => `a${randomUUID().slice(1)}`)

const ask = ({ method, url }: AccessedRoute, project: string, headers: Headers) =>
  send(method, addressOf(url, project), undefined, headers)

const askIn = (route: AccessedRoute, project: string, headers: Headers) =>
  ask(route, project, { ...headers, 'belfry-project': project })

/** The path names the project of these, so a header does not matter. */
const isNamed = ({ url }: AccessedRoute) => url.startsWith('/v1/projects/:name')
const named = ({ method, url }: AccessedRoute) => `${method} ${url}`
/** Whoever asks is answered alike, in whichever project. */
const isForAll = ({ access }: AccessedRoute) => access === 'public' || access === 'self'

/** What becomes of a request to a route in the project `own`, in another, and with a role of the installation. */
interface Row {
  readonly verdicts: readonly string[]
  /** More exactly, to compare with somebody else. */
  readonly answers: readonly string[]
}

async function rowOf(route: AccessedRoute, { role, own, of }: Holder): Promise<Row> {
  const inOwn = await askIn(route, 'own', own)
  const first = [role, verdictOf(inOwn)]
  if (isForAll(route)) return { verdicts: first, answers: [role, exactly(inOwn)] }
  const inOther = await askIn(route, 'other', own)
  // Nothing may become of the projects that the other routes are asked about.
  const ofAll = await ask(route, isNamed(route) ? 'default' : 'own', { ...of, 'belfry-project': 'own' })
  return {
    verdicts: [...first, hiddenIn(inOther), verdictOf(ofAll)],
    answers: [role, ...[inOwn, inOther, ofAll].map(COUNTED.includes(named(route)) ? verdictOf : exactly)],
  }
}

const exactly = ({ status, body }: Answer) => `${status} ${body?.code ?? ''}`

/** The role that somebody has in a project, and in the installation. */
interface Roles {
  readonly ofProject?: string
  readonly ofAll?: string
}

const verdictOn = (access: string, { ofProject = '', ofAll = '' }: Roles): string =>
  [ALLOWED[ofProject], ALLOWED[ofAll], BEYOND[ofAll]].some((allowed) => allowed?.includes(access))
    ? 'allowed'
    : 'forbidden'

test('the page of permissions lists every route', async () => {
  await expect(permissionsPage(ROUTES)).toMatchFileSnapshot('../../docs/reference/permissions.md')
})

const withoutSession = ROUTES.filter(({ url }) => !OF_SESSION.includes(url))

describe.each(withoutSession.map((route) => [named(route), route] as const))('%s', (name, route) => {
  const { access, method } = route
  const isOfToken = access === 'token'
  // Without a body nobody can tell which thing is not there.
  const hidden = isOfToken ? 'unauthenticated' : method === 'HEAD' ? 'not found' : 'unknown project'
  const verdictFor = (roles: Roles) => (isOfToken ? 'unauthenticated' : verdictOn(access, roles))
  const rowFor = (role: string): string[] =>
    isForAll(route)
      ? [role, 'allowed']
      : [role, verdictFor({ ofProject: role }), hidden, verdictFor({ ofAll: role })]

  test(`is for those who have the access ${access}, by key or by session`, async () => {
    const without = await ask(route, 'own', {})
    const bad = await ask(route, 'own', { authorization: 'Bearer bf_none' })
    const ended = await ask(route, 'own', { ...mixed, cookie: `belfry=${'x'.repeat(43)}` })
    const [ofKeys, ofPeople]: [Row[], Row[]] = [[], []]
    for (const key of keys) ofKeys.push(await rowOf(route, key))
    for (const person of people) ofPeople.push(await rowOf(route, person))

    expect([without, bad, ended].map(verdictOf)).toEqual(
      Array(3).fill(access === 'public' ? 'allowed' : 'unauthenticated'),
    )
    expect(ofKeys.map(({ verdicts }) => verdicts)).toEqual(ROLES.map(rowFor))
    const ofMembers = ofKeys.slice(0, MEMBER_ROLES.length)
    expect(ofPeople.map(({ answers }) => answers)).toEqual(
      NOT_FOR_PEOPLE.includes(name)
        ? MEMBER_ROLES.map((role) => [role, '403 forbidden', '404 not_found', '403 forbidden'])
        : ofMembers.map(({ answers }) => answers),
    )
  })

  // What is for all is the same in every project.
  if (isForAll(route)) return
  test('applies the role of a person in the project', async () => {
    const [viewed, edited, foreign] = [
      await askIn(route, 'own', mixed),
      await askIn(route, 'second', mixed),
      await askIn(route, 'other', mixed),
    ]
    const [managed, watched] = [await askIn(route, 'own', manager), await askIn(route, 'second', manager)]

    const verdictOfPerson = (roles: Roles) =>
      NOT_FOR_PEOPLE.includes(name) ? 'forbidden' : verdictFor(roles)
    expect([verdictOf(viewed), verdictOf(edited), hiddenIn(foreign)]).toEqual([
      verdictOfPerson({ ofProject: 'viewer' }),
      verdictOfPerson({ ofProject: 'editor' }),
      hidden,
    ])
    expect([verdictOf(managed), verdictOf(watched)]).toEqual([
      verdictOfPerson({ ofProject: 'admin', ofAll: 'viewer' }),
      verdictOfPerson({ ofAll: 'viewer' }),
    ])
  })
})

const changing = ROUTES.filter(({ method }) => !/GET|HEAD/.test(method))

test.each(changing.map((route) => [named(route), route] as const))(
  '%s accepts the session cookie only from pages of the server',
  async (_, route) => {
    const { cookie = '' } = mixed
    const answers = []
    for (const site of [{}, { 'sec-fetch-site': 'same-site' }, { origin: 'https://evil.example' }])
      answers.push(await askIn(route, 'own', { cookie, ...site }))

    expect(answers.map(exactly)).toEqual(Array(3).fill('403 foreign_origin'))
  },
)

test.each(OF_SESSION)(
  'POST %s ends sessions, and accepts the cookie only from pages of the server',
  async (url) => {
    const person = await asPerson(`leaving-by-${url.split('/').at(-1)}`, { own: 'viewer' })
    const { cookie = '' } = person

    const foreign = await send('POST', url, undefined, { cookie })
    const stillThere = await send('GET', '/v1/me', undefined, person)
    const left = await send('POST', url, undefined, person)
    const gone = await send('GET', '/v1/me', undefined, person)
    const byKey = await send('POST', url, undefined, admin)

    expect([foreign.status, foreign.body.code, stillThere.status]).toEqual([403, 'foreign_origin', 200])
    expect([left.status < 300, gone.status]).toEqual([true, 401])
    expect(byKey.status).toBe(url.endsWith('everywhere') ? 401 : 204)
  },
)

test('people cannot register workers, because the token is valid as long as an API key', async () => {
  const worker = { name: 'theirs', handlers: ['greet'] }
  const person = people.find(({ role }) => role === 'admin')

  const answer = await send('POST', '/v1/worker/register', worker, {
    ...person?.own,
    'belfry-project': 'own',
  })

  expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  expect(answer.body.detail).toContain('API key')
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

test('a key that is limited to queues can change only what belongs to a queue', async () => {
  const queues = { name: 'limited', role: 'admin', project: null, queues: ['a'] }
  const { body } = await send('POST', '/v1/keys', queues, admin)
  const headers = { authorization: `Bearer ${body.key}`, 'belfry-project': 'own' }
  const concerned = changing.filter(({ access }) => !/read|public|self|token/.test(access))

  const refused: string[] = []
  for (const route of concerned) {
    const project = isNamed(route) ? 'default' : 'own'
    const { status, body } = await ask(route, project, headers)
    if (status === 403 && body.detail.includes('more than one queue')) refused.push(named(route))
  }

  expect(
    concerned
      .filter(({ isOfQueue }) => isOfQueue)
      .map(named)
      .sort(),
  ).toEqual([...OF_QUEUE].sort())
  expect(refused.sort()).toEqual(
    concerned
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

test('reading a project is limited in rate, except for its admins', async () => {
  const [viewer, projectAdmin] = [await asKey('viewer', 'second'), await asKey('admin', 'second')]
  await send('PATCH', '/v1/projects/second', { limits: { requestRate: '5/h' } }, admin)

  await eventually(async () => (await send('GET', '/v1/projects/second', undefined, viewer)).status === 429)
  const byAdmin = await send('GET', '/v1/projects/second', undefined, projectAdmin)

  expect(byAdmin.status).toBe(200)
})

test('only callers who may change a subscription see the path of its address', async () => {
  const [viewer, operator, editor] = await Promise.all(
    ['viewer', 'operator', 'editor'].map((role) => asKey(role, 'other')),
  )
  const url = 'https://hooks.example.com/in/token-5f2e?key=6'
  const { body } = await send('POST', '/v1/subscriptions', { url }, editor)

  const seen = await Promise.all([
    ...[viewer, operator, editor].map((one) =>
      send('GET', `/v1/subscriptions/${body.id}`, undefined, one).then((answer) => answer.body.url),
    ),
    send('GET', '/v1/subscriptions', undefined, viewer).then((answer) => answer.body.items[0].url),
    send('POST', `/v1/subscriptions/${body.id}/resume`, {}, operator).then((answer) => answer.body.url),
  ])

  const masked = `https://hooks.example.com/${MASK}`
  expect([body.url, ...seen]).toEqual([url, masked, masked, url, masked, masked])
})

test('only callers with a role in the installation see the names of nodes', async () => {
  const id = await aNode(db, ['worker'])
  const target = 'https://api.example.com'
  await aCallTo(target, id)
  const namesFor = async (role: string, project: string | null) => {
    const headers = { ...(await asKey(role, project)), 'belfry-project': 'own' }
    const workers = await send('GET', '/v1/workers', undefined, headers)
    const path = `/v1/targets/${encodeURIComponent(target)}`
    const targets = [
      await send('GET', path, undefined, headers),
      await send('PATCH', path, { limit: 3 }, headers),
      await send('POST', `${path}/pause`, {}, headers),
      await send('POST', `${path}/resume`, undefined, headers),
    ]
    return [
      workers.body.items.find((node: { id: string }) => node.id === id).name,
      ...targets.flatMap(({ body }) => body.nodes).map(({ name }) => name),
    ]
  }

  const names = await Promise.all([namesFor('editor', 'own'), namesFor('editor', null)])

  expect(names).toEqual([Array(5).fill(`node ${id.slice(-6)}`), Array(5).fill('test')])
})

/** Reports that a node calls a target for the project `own`. */
async function aCallTo(target: string, nodeId: string): Promise<void> {
  const { body: project } = await send('GET', '/v1/projects/own', undefined, admin)
  const state = {
    state: 'available',
    underWay: 1,
    limit: 128,
    limitReason: 'default',
    limitSince: null,
    latency: null,
    calls: 0,
    failures: 0,
    circuit: null,
    lastError: null,
  } as const
  await db.run(writeTargetReports(nodeId, [{ projectId: project.id, target, isIdle: true, state }]))
}

test('of requests with credentials, only those of workers are answered however slow the database is', () => {
  const vital = ROUTES.filter(
    ({ method, url, access }) => importanceOf({ method, url, config: { access } }) === 'vital',
  )
  const withCredentials = vital.filter(({ access }) => access !== 'public' && access !== 'token')

  expect(withCredentials.map(({ method, url }) => `${method} ${url}`)).toEqual(['POST /v1/worker/register'])
})
