/**
 * Every way of naming a thing in a request: in the path, in a parameter of the query, in the body and in a header. Together with
 * what names nothing, these are all routes of the application.
 */
import type { AccessedRoute } from '../../../src/api/http/authentication.ts'
import { type Document, operationsOf } from '../document.ts'
import { FENCE, type Kind } from './things.ts'

export interface Asked {
  readonly method: string
  readonly path: string
  readonly body: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A kind of request about a thing of some kind. */
export interface Question {
  /** The route, as in `GET /v1/tasks/:id`. */
  readonly route: string
  readonly kind: Kind
  readonly by: 'key' | 'worker'
  /** Whether the request may make something with this name, after which the name is known. */
  readonly isMaking: boolean
  about(thing: string): Asked
}

const OF_ALL = 'Serves pages, documents and health to everybody, and reads no project.'
const OF_INSTALLATION =
  'Names nothing of a project, and is refused to those who have a role in projects only.'
const OF_CALLER = 'Says who is asking, and takes no names.'
const OF_PROJECT = 'Takes no names. A project is answered the same whatever others have: see tenants.test.ts.'
const BY_TOKEN =
  'Names nothing but the attempt in its token, and nobody has the token of an attempt of others.'

/** Routes that name nothing of a project, and why they need no comparison. */
export const NAMING_NOTHING: Readonly<Record<string, string>> = {
  'GET /': OF_ALL,
  'GET /assets/:name': OF_ALL,
  'GET /docs': OF_ALL,
  'GET /docs/': OF_ALL,
  'GET /docs/js/scalar.js': OF_ALL,
  'GET /docs/openapi.json': OF_ALL,
  'GET /docs/openapi.yaml': OF_ALL,
  'GET /openapi.json': OF_ALL,
  'GET /healthz': OF_ALL,
  'GET /readyz': OF_ALL,
  'GET /auth/methods': OF_ALL,
  'GET /auth/login': 'Begins a sign-in, before it is known who is asking.',
  'GET /auth/callback': 'Ends a sign-in, with what the identity provider sent.',
  'POST /auth/sign-in': 'Takes a key, which is a credential and names nothing.',
  'POST /auth/sign-out': 'Ends the session that the request is sent with.',
  'POST /auth/sign-out-everywhere': 'Ends the sessions of the person who is asking.',
  'GET /v1/me': OF_CALLER,
  'GET /v1/nodes': OF_INSTALLATION,
  'GET /v1/shards': OF_INSTALLATION,
  'GET /v1/secrets-key': OF_INSTALLATION,
  'POST /v1/secrets-key/rotate': OF_INSTALLATION,
  'GET /v1/installation/members': OF_INSTALLATION,
  'GET /v1/server': OF_PROJECT,
  'GET /v1/stats': OF_PROJECT,
  'GET /v1/stats/history': OF_PROJECT,
  'GET /v1/blackouts': OF_PROJECT,
  'GET /v1/members': OF_PROJECT,
  'GET /v1/workers': OF_PROJECT,
  'POST /v1/blackouts': 'Takes a window of time and a display name, which need not be unique.',
  'POST /v1/schedules/preview': 'Computes instants from the schedule in its body, and reads no project.',
  'POST /v1/worker/stop': 'Deregisters the worker that sends it.',
  'POST /health_check': BY_TOKEN,
  'POST /update_status': BY_TOKEN,
}

/** What the parameters of queries name; null for those that name nothing. */
const PARAMETERS: Readonly<Record<string, readonly Kind[] | null>> = {
  ...{ taskId: ['id'], actor: ['id'], subject: ['id', 'name'], prefix: ['id'], q: ['id', 'name'] },
  ...{ owner: ['name'], tag: ['name'], queue: ['name'], name: ['name'], origin: ['name'], project: ['name'] },
  ...{ sha256: ['hash'], fingerprint: ['hash'], cursor: ['cursor'], after: ['position'] },
  ...{ state: null, type: null, include: null, limit: null, from: null, to: null, show: null, at: null },
  ...{ since: null, format: null, timestamps: null, attempt: null, archived: null, events: null, by: null },
  ...{ action: null, scope: null, subjectKind: null, range: null, force: null },
  // A signed address is a credential of its own.
  token: null,
}

/** Enough of an id that no other id begins so. */
const PREFIX_CHARACTERS = 18

const SLEEP = { type: 'sleep', duration: '0s' }
/** Bodies of all routes whose path names a thing. Each has one that it accepts among them. */
const BODIES: readonly unknown[] = [
  undefined,
  {},
  { name: 'x' },
  { reason: 'x' },
  { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' },
  { version: 1 },
  { overlap: '1h' },
  { action: SLEEP },
  { value: 'a value' },
  { limit: 3 },
  { concurrencyLimit: 3 },
  { limits: { requestRate: '10/s' } },
]

const NOW = '2026-11-16T09:00:00Z'

type Rest = readonly [body: unknown, headers?: Readonly<Record<string, string>>, query?: string]
type Written = (thing: string) => Rest

/** Requests that name a thing in the body or in a header. */
const IN_BODIES: readonly (readonly [route: string, kind: Kind, by: 'key' | 'worker', ...Written[]])[] = [
  [
    'POST /v1/tasks',
    'name',
    'key',
    (key) => [{ action: SLEEP, key }],
    (queue) => [{ action: SLEEP, queue }],
    (owner) => [{ action: SLEEP, owner, tags: [owner] }],
    (name) => [{ action: { type: 'handler', name } }],
    (name) => [{ action: { type: 'ping', url: `https://example.com/{{secret.${name}}}` } }],
    (url) => [{ action: { type: 'ping', url } }],
    (key) => [{ action: SLEEP }, { 'idempotency-key': key }],
  ],
  ['POST /v1/tasks', 'id', 'key', (file) => [{ action: { type: 'exec', file } }]],
  [
    'POST /v1/tasks/bulk',
    'name',
    'key',
    (key) => [{ tasks: [{ action: SLEEP, key }] }],
    (key) => [{ tasks: [{ action: SLEEP }] }, { 'idempotency-key': key }],
  ],
  ['POST /v1/tasks/bulk', 'id', 'key', (file) => [{ tasks: [{ action: { type: 'exec', file } }] }]],
  ['POST /v1/files', 'name', 'key', (name) => [{ name, size: 1 }]],
  ['POST /v1/files', 'hash', 'key', (sha256) => [{ name: 'x', size: 40, sha256 }]],
  ['POST /v1/projects', 'name', 'key', (name) => [{ name }]],
  [
    'POST /v1/keys',
    'name',
    'key',
    (name) => [{ name, role: 'viewer' }],
    (project) => [{ name: 'x', role: 'viewer', project }],
    (queue) => [{ name: 'x', role: 'viewer', queues: [queue] }],
  ],
  ['POST /v1/members', 'name', 'key', (group) => [{ group, role: 'viewer' }]],
  ['POST /v1/installation/members', 'name', 'key', (group) => [{ group, role: 'viewer' }]],
  ['POST /v1/signing-secrets', 'name', 'key', (origin) => [{ origin }]],
  ['POST /v1/signing-secrets/rotate', 'name', 'key', (origin) => [{ origin }]],
  [
    'POST /v1/subscriptions',
    'name',
    'key',
    (queue) => [{ url: 'https://example.com/', filter: { queues: [queue] } }],
    (tag) => [{ url: 'https://example.com/', filter: { tags: [tag], owners: [tag] } }],
    (name) => [{ url: `https://example.com/{{secret.${name}}}` }],
  ],
  [
    'POST /v1/subscriptions',
    'id',
    'key',
    (taskId) => [{ url: 'https://example.com/', filter: { taskIds: [taskId] } }],
  ],
  ['POST /v1/subscriptions', 'position', 'key', (after) => [{ url: 'https://example.com/', after }]],
  [
    'POST /v1/dead-letters/dismiss',
    'id',
    'key',
    (run) => [{ filter: { runIds: [run] } }],
    (taskId) => [{ filter: { taskId }, dryRun: true }],
  ],
  ['POST /v1/dead-letters/dismiss', 'hash', 'key', (fingerprint) => [{ filter: { fingerprint } }]],
  [
    'POST /v1/dead-letters/redrive',
    'id',
    'key',
    (run) => [{ filter: { runIds: [run] } }],
    (run) => [{ filter: { runIds: [run] }, dryRun: true }],
  ],
  ['POST /v1/dead-letters/redrive', 'hash', 'key', (fingerprint) => [{ filter: { fingerprint } }]],
  ['POST /submit_job', 'id', 'key', (file) => [{ user_id: 'ada', schedule: '1h', code_location: file }]],
  [
    'POST /submit_job',
    'name',
    'key',
    (user) => [{ user_id: user, schedule: '1h', code_location: 'https://example.com/' }],
    (key) => [
      { user_id: 'ada', schedule: '1h', code_location: 'https://example.com/' },
      { 'idempotency-key': key },
    ],
  ],
  ['POST /retrieve_all_jobs', 'name', 'key', (user) => [{ user_id: user }]],
  ['POST /retrieve_all_jobs', 'cursor', 'key', (at) => [{ user_id: 'ada' }, {}, `?cursor=${at}`]],
  ['POST /delete_job', 'id', 'key', (job) => [{ user_id: 'ada', job_id: job }]],
  ['POST /get_exec_history', 'id', 'key', (job) => [{ job_id: job }]],
  ['POST /task/create', 'name', 'key', (key) => [{}, { 'idempotency-key': key }]],
  ['POST /task/status', 'number', 'key', (number) => [{ id: Number(number) }]],
  [
    'POST /task/update',
    'number',
    'key',
    (number) => [{ id: Number(number), is_producible: true }],
    (number) => [{ id: Number(number), is_producible: false }],
  ],
  ['POST /signurl/create', 'number', 'key', (number) => [{ id: Number(number) }]],
  ['POST /file/status', 'number', 'key', (number) => [{ id: Number(number) }]],
  ['POST /tasks', 'name', 'key', (key) => [{ command: '1s' }, { 'idempotency-key': key }]],
  [
    'POST /v1/worker/register',
    'name',
    'key',
    (name) => [{ name, handlers: [name] }],
    (queue) => [{ handlers: ['x'], queues: [queue] }],
  ],
  ['GET /v1/stream', 'position', 'key', (at) => [undefined, { 'last-event-id': at }]],
  ['GET /v1/events', 'position', 'key', (at) => [undefined, { 'last-event-id': at }]],
  ['POST /v1/worker/claim', 'id', 'worker', (requestId) => [{ requestId, limit: 10, waitMs: 0 }]],
  [
    'POST /v1/worker/heartbeat',
    'id',
    'worker',
    (runId) => [{ runs: [{ runId, fence: FENCE }] }],
    (runId) => [{ runs: [{ runId, fence: FENCE, progress: { fraction: 0.5, message: 'x' } }] }],
  ],
  [
    'POST /v1/worker/log',
    'id',
    'worker',
    (runId) => [{ runs: [{ runId, fence: FENCE, first: 0, lines: [{ at: NOW, message: 'x' }] }] }],
  ],
  ['POST /v1/worker/return', 'id', 'worker', (runId) => [{ runs: [{ runId, fence: FENCE }] }]],
  [
    'POST /v1/worker/complete',
    'id',
    'worker',
    (runId) => [{ runs: [{ runId, fence: FENCE, outcome: 'completed', result: 1 }] }],
    (runId) => [{ runs: [{ runId, fence: FENCE, outcome: 'failed', error: { message: 'x' } }] }],
    (runId) => [
      {
        runs: [
          { runId, fence: FENCE, outcome: 'completed', log: [{ at: NOW, level: 'info', message: 'x' }] },
        ],
      },
    ],
    (runId) => [{ runs: [{ runId, fence: FENCE, outcome: 'lost' }] }],
  ],
]

/** Things of those who ask, for requests that name one of them beside the thing in question. */
export interface Own {
  readonly id: string
  readonly name: string
}

/** All questions that can be asked about these routes, and what is neither asked nor known to name nothing. */
export function questionsAbout(routes: readonly AccessedRoute[], document: Document, own: Own) {
  // A HEAD request is answered like a GET request without the body.
  const names = new Set(routes.map(({ method, url }) => `${method === 'HEAD' ? 'GET' : method} ${url}`))
  const questions = [...inPaths(routes), ...inQueries(document, own), ...inBodies()].filter(
    ({ route }) => !(route in NAMING_NOTHING),
  )
  const asked = new Set(questions.map(({ route }) => route))
  return {
    questions,
    uncovered: [
      ...[...names].filter((name) => !asked.has(name) && !(name in NAMING_NOTHING)),
      ...unknownParameters(document),
    ],
    /** Entries about routes that do not exist, or that are asked about. */
    stale: [...Object.keys(NAMING_NOTHING), ...asked].filter((name) => !names.has(name)),
  }
}

const inPaths = (routes: readonly AccessedRoute[]): Question[] =>
  routes
    .filter(({ url }) => url.includes(':'))
    .flatMap(({ method, url }) => {
      const kind = /:(name|key|target)\b/.test(url) ? 'name' : 'id'
      const isReading = method === 'GET' || method === 'HEAD'
      return (isReading ? [undefined] : BODIES).map((body) => ({
        route: `${method === 'HEAD' ? 'GET' : method} ${url}`,
        ...{ kind, by: 'key' as const, isMaking: kind === 'name' && !isReading },
        about: (thing: string) => ({ method, path: withThing(url, thing), body }),
      }))
    })

const withThing = (url: string, thing: string) =>
  url.replace(/:version\b/, '1').replace(/:\w+/g, () => encodeURIComponent(thing))

const inQueries = (document: Document, own: Own): Question[] =>
  operationsOf(document)
    .filter(({ method }) => method === 'GET')
    .flatMap(({ path, parameters }) =>
      parameters
        .filter((one) => one.in === 'query')
        .flatMap(({ name }) =>
          (PARAMETERS[name] ?? []).flatMap((kind) =>
            queriesOf(name).map((query) => ({
              route: `GET ${path.replace(/\{(\w+)\}/g, ':$1')}`,
              ...{ kind, by: 'key' as const, isMaking: false },
              about: (thing: string) => ({
                method: 'GET',
                path: `${ofOwn(path, own)}?${query(thing)}`,
                body: undefined,
              }),
            })),
          ),
        ),
    )

/** Ways to name a thing with a parameter. */
const queriesOf = (name: string): readonly ((thing: string) => string)[] =>
  name === 'prefix'
    ? ['task', 'run', 'file'].map((type) => (id) => `prefix=${id.slice(0, PREFIX_CHARACTERS)}&type=${type}`)
    : [(thing) => `${name}=${encodeURIComponent(thing)}`]

const ofOwn = (path: string, own: Own) =>
  path
    .replace('{version}', '1')
    .replace('{id}', own.id)
    .replace(/\{\w+\}/, own.name)

const unknownParameters = (document: Document): string[] =>
  operationsOf(document).flatMap(({ method, path, parameters }) =>
    parameters
      .filter((one) => one.in === 'query' && !(one.name in PARAMETERS))
      .map(({ name }) => `${method} ${path}?${name}`),
  )

const inBodies = (): Question[] =>
  IN_BODIES.flatMap(([route, kind, by, ...written]) =>
    written.map((write) => {
      const [method = '', url = ''] = route.split(' ')
      return {
        ...{ route, kind, by, isMaking: by === 'key' && method !== 'GET' },
        about: (thing: string) => {
          const [body, headers = {}, query = ''] = write(thing)
          return { method, path: `${url}${query}`, body, headers }
        },
      }
    }),
  )
