/**
 * Requests made from the OpenAPI document, right ones and spoilt ones: each answer must be one that the
 * document promises, and none may be a 5xx. A failure prints the seed that repeats it.
 */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { makeHistory } from '../support/history.ts'
import { answerChecker, type Document, type Operation, operationsOf } from './document.ts'
import { arbitraryOf, spoilt } from './schema-arbitrary.ts'
import { createTestApp } from './test-app.ts'

const MAX_REQUESTS = 5_000
const TIME_LIMIT_MS = 6_000
/** From this many requests of each kind on it would be strange if one kind of them had never been right. */
const ENOUGH_OF_EACH = 100
/** A claim waits as long as it is told to when nothing comes due, and nothing does here. */
const LONGEST_WAIT_MS = 5
const MAX_KNOWN = 30

const database = await createTestDatabase()
const { send } = await createTestApp(database)
const document: Document = (await send('GET', '/openapi.json')).body
const operations = operationsOf(document)
const check = answerChecker(document)

interface FuzzRequest {
  readonly operation: Operation
  readonly parameters: Record<string, unknown>
  readonly body: unknown
  /** Which of the things that exist an id in the address means; beyond them it means what was drawn. */
  readonly pick: number
}

function requestOf(operation: Operation): fc.Arbitrary<FuzzRequest> {
  const parameters = operation.parameters.map(({ name, required, schema }) => {
    const value = fc.oneof(
      { weight: 4, arbitrary: arbitraryOf(document, schema, 'right', name) },
      { weight: 1, arbitrary: fc.string() },
    )
    return [name, required ? value : fc.option(value, { nil: undefined, freq: 1 })] as const
  })
  const schema = operation.requestBody?.content['application/json']?.schema
  const right = schema ? arbitraryOf(document, schema, 'right') : fc.constant(undefined)
  const any = schema ? arbitraryOf(document, schema, 'any') : right
  return fc.record({
    operation: fc.constant(operation),
    parameters: fc.record(Object.fromEntries(parameters)),
    body: schema ? fc.oneof({ weight: 2, arbitrary: right }, any, spoilt(any)) : right,
    pick: fc.nat({ max: MAX_KNOWN * 2 }),
  })
}
const request = fc.oneof(...operations.map(requestOf))

/** Ids and keys from answers, so that requests find something. */
const known: Record<
  'tasks' | 'runs' | 'backfills' | 'subscriptions' | 'redrives' | 'keys' | 'secrets',
  string[]
> = {
  tasks: [],
  runs: [],
  backfills: [],
  subscriptions: [],
  redrives: [],
  keys: ['a'],
  secrets: [],
}
const remember = (list: string[], value: unknown) => {
  if (typeof value === 'string') list.splice(0, list.length, ...[value, ...list].slice(0, MAX_KNOWN))
}

/** So few are made by chance that some are made beforehand. */
for (let i = 0; i < 5; i++) {
  remember(known.subscriptions, (await send('POST', '/v1/subscriptions', { url: 'http://x' })).body.id)
  remember(known.redrives, (await send('POST', '/v1/dead-letters/redrive', { filter: {} })).body.id)
}

/** Nobody runs anything here, so what can be run again is put there. */
const { body: finished } = await send('POST', '/v1/tasks', {
  action: { type: 'sleep', duration: '1s' },
  schedule: { type: 'manual' },
  overlap: 'allow',
})
await makeHistory(database.db, {
  runs: 50,
  from: Date.now() - 1_000,
  until: Date.now(),
  taskIds: [finished.id],
})
const ended = await database.db.run(sql<{ id: string }>`select run_id as id from run`)

/** What hardly any drawn request would get right: a version that is not the present one, a range of the past. */
const RARE = ['rollbackTask', 'backfillTask']
const { body: past } = await send('POST', '/v1/tasks', {
  action: { type: 'sleep', duration: '1s' },
  schedule: { type: 'every', interval: '1h' },
})
await send('PATCH', `/v1/tasks/${past.id}`, { timeout: '1m' })
const range = { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
const { status: rolledBack } = await send('POST', `/v1/tasks/${past.id}/rollback`, { version: 1 })
const { status: filled, body: backfill } = await send('POST', `/v1/tasks/${past.id}/backfill`, range)
expect([rolledBack, filled]).toEqual([200, 201])
remember(known.backfills, backfill.id)

/** Clients take a dot or two, and nothing at all, out of an address: what they send then is another operation. */
const addressable = (value: string) => (/^\.{0,2}$/.test(value) ? 'x' : value)

function addressOf({ operation, parameters, pick }: FuzzRequest): string {
  const list = knownAt(operation.path)
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const found = name === 'version' ? list[pick] && '1' : list[pick]
    return encodeURIComponent(addressable(found ?? String(parameters[name])))
  })
  const query = operation.parameters.filter((p) => p.in === 'query' && parameters[p.name] !== undefined)
  const text = query.map(({ name }) => `${name}=${encodeURIComponent(String(parameters[name]))}`).join('&')
  return text === '' ? path : `${path}?${text}`
}

function knownAt(path: string): readonly string[] {
  if (path.includes('{key}')) return known.keys
  if (path.startsWith('/v1/projects/')) return ['default']
  if (path.startsWith('/v1/signing-secrets/')) return known.secrets
  if (path.endsWith('/retry')) return ended.map(({ id }) => id)
  if (path.includes('/backfills/{')) return known.backfills
  if (path.includes('/redrives/{')) return Array(MAX_KNOWN).fill(known.redrives).flat()
  if (path.includes('/subscriptions/{')) return Array(MAX_KNOWN).fill(known.subscriptions).flat()
  return path.includes('/runs/{') ? known.runs : known.tasks
}

/** The worker that asks where one must; a new one once it has said its last word. */
let token = ''
async function register(): Promise<void> {
  const { body } = await send('POST', '/v1/worker/register', { handlers: ['a'] })
  token = body.token
}
await register()

function bodyOf({ operation, body, pick }: FuzzRequest): unknown {
  if (typeof body !== 'object' || body === null) return body
  if ('job_id' in body) return { ...body, ...namedJob(body, pick) }
  const { waitMs } = body as { waitMs?: unknown }
  if (operation.operationId !== 'claimRuns') return body
  return { ...body, waitMs: typeof waitMs === 'number' ? Math.min(waitMs, LONGEST_WAIT_MS) : (waitMs ?? 0) }
}

function whereKnown(body: Record<string, unknown> | null): string[] {
  if (body?.['scheduledFor']) return known.runs
  if (body?.['batchSize'] !== undefined) return known.subscriptions
  if (body?.['redriven'] !== undefined) return known.redrives
  if (body?.['secret']) return known.secrets
  return body?.['passedOver'] === undefined ? known.tasks : known.backfills
}

/** Jobs are named in bodies: half the time it is one that is there, and its user. */
const jobs: { job_id: string; user_id: string }[] = []
for (let i = 0; i < MAX_KNOWN; i++) {
  const job = { user_id: `user ${i}`, schedule: '1h', code_location: 'http://localhost/' }
  jobs.push((await send('POST', '/submit_job', job)).body)
}

function namedJob(body: object, pick: number): object {
  const job = jobs[pick]
  if (job === undefined) return {}
  return { job_id: job.job_id, ...('user_id' in body ? { user_id: job.user_id } : {}) }
}

function headersOf({ operation, parameters }: FuzzRequest): Record<string, string> {
  const entries = operation.parameters
    .filter((p) => p.in === 'header' && parameters[p.name] !== undefined)
    .map(({ name }) => [name, String(parameters[name]).replace(/[^\x20-\x7e]/g, '?')])
  const authorization = operation.security ? { authorization: `Bearer ${token}` } : {}
  return { ...Object.fromEntries(entries), ...authorization }
}

test('every answer matches the OpenAPI document', async () => {
  const succeeded = new Set<string>(RARE)
  let count = 0

  await fc.assert(
    fc.asyncProperty(request, async (drawn) => {
      const { operation } = drawn
      const answer = await send(operation.method, addressOf(drawn), bodyOf(drawn), headersOf(drawn))

      expect(check(operation, answer)).toEqual([])
      expect(answer.status).toBeLessThan(500)
      count++
      if (answer.status >= 300) return
      succeeded.add(operation.operationId)
      if (operation.operationId === 'stopWorker') await register()
      remember(whereKnown(answer.body), answer.body?.id)
      remember(known.keys, answer.body?.key)
    }),
    {
      numRuns: MAX_REQUESTS,
      interruptAfterTimeLimit: TIME_LIMIT_MS,
      markInterruptAsFailure: false,
      endOnFailure: true,
    },
  )

  if (count < ENOUGH_OF_EACH * operations.length) return
  expect([...succeeded].sort()).toEqual(operations.map(({ operationId }) => operationId).sort())
})
