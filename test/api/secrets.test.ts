/** Secrets of tasks: sent to receivers, shown to nobody, kept by edits, and erased with the task. */
import { expect, test } from 'vitest'
import { MASK } from '../../src/core/action/secret-rule.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startBelfry } from '../support/process.ts'
import { startSharedSink } from '../support/sink.ts'
import { operationsOf } from './document.ts'

const { url: databaseUrl, db } = await createTestDatabase()
const node = await startBelfry(['--database-url', databaseUrl, '--log-level', 'debug'])
const { request } = node
const sink = await startSharedSink()

const CANARY = 'canary-5f2e'
const secretAction = {
  type: 'http',
  url: `${sink.url}/orders`,
  method: 'POST',
  headers: {
    Authorization: `Bearer ${CANARY}`,
    'X-Api-Key': CANARY,
    cookie: `sid=${CANARY}`,
    'x-plain': 'seen',
  },
}
const maskedHeaders = { Authorization: MASK, 'X-Api-Key': MASK, cookie: MASK, 'x-plain': 'seen' }

const create = (fields: Record<string, unknown> = {}) =>
  request('POST', '/v1/tasks', { action: secretAction, schedule: { type: 'manual' }, ...fields })
const patch = (id: string, fields: unknown) => request('PATCH', `/v1/tasks/${id}`, fields)
const runOf = async (taskId: string, override: unknown = {}) => {
  const { body } = await request('POST', `/v1/tasks/${taskId}/trigger`, override)
  await eventually(async () => (await request('GET', `/v1/runs/${body.id}`)).body.endedAt ?? undefined)
  return body.id as string
}
const lastHit = (path: string) => sink.hits.findLast((hit) => hit.path === path)
const storedCanaries = async (taskId: string) => {
  const rows = await db.run(sql<{ text: string }>`
    select concat(definition, brief) as text from task where id = ${taskId}
    union all select concat(definition, brief) from task_version where task_id = ${taskId}`)
  return rows.filter(({ text }) => text.includes(CANARY)).length
}

test('no response and no log line contains a secret', async () => {
  const answers: string[] = []
  const say = async (method: string, path: string, body?: unknown, headers?: Record<string, string>) => {
    const answer = await request(method, path, body, headers)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300)
    answers.push(JSON.stringify(answer.body))
    return answer.body
  }
  const repeat = { 'idempotency-key': 'once' }
  const wanted = { key: 'canary', name: 'canary', action: secretAction, schedule: { type: 'manual' } }
  const task = await say('POST', '/v1/tasks', wanted, repeat)
  await say('POST', '/v1/tasks', wanted, repeat)
  const slack = { type: 'slack', url: `https://hooks.slack.com/services/T/B/${CANARY}`, text: 'hello' }
  await say('POST', '/v1/tasks/bulk', {
    tasks: [slack, { type: 'webhook', url: slack.url }].map((action) => ({
      ...wanted,
      key: null,
      owner: 'canary',
      action,
    })),
  })
  await say('PATCH', `/v1/tasks/${task.id}`, {
    action: { ...secretAction, headers: { ...secretAction.headers, 'X-Api-Key': `${CANARY}-2` } },
  })
  await say('PUT', '/v1/tasks/by-key/canary', { ...wanted, key: undefined, name: 'again' })
  await say('POST', `/v1/tasks/${task.id}/rollback`, { version: 1 })
  const runId = await runOf(task.id, { action: { headers: { 'X-Token': CANARY } } })
  expect(await say('POST', '/retrieve_all_jobs', { user_id: 'canary' })).toHaveLength(2)

  const values: Record<string, string> = { key: 'canary', version: '2', name: 'default' }
  const { body: document } = await request('GET', '/openapi.json')
  const reads = operationsOf(document).filter(
    ({ method, path }) => method === 'GET' && !/stream|events/.test(path),
  )
  for (const { path } of reads) {
    const id = path.startsWith('/v1/runs') ? runId : task.id
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => values[name] ?? id)
    const { status, body } = await request('GET', filled)
    if (/tasks\/|runs\//.test(path)) expect([path, status]).toEqual([path, 200])
    answers.push(JSON.stringify(body))
  }

  expect(lastHit('/orders')?.headers).toMatchObject({ 'x-api-key': CANARY, 'x-token': CANARY })
  expect(answers.filter((answer) => answer.includes(CANARY))).toEqual([])
  expect(answers.join()).toContain(MASK)
  expect(node.stderr).toContain('"level"')
  expect(node.stderr).not.toContain(CANARY)
})

test('a version shows that a secret was changed, but not its value', async () => {
  const { body: task } = await create()
  await patch(task.id, { action: { ...secretAction, headers: { ...secretAction.headers, cookie: 'other' } } })

  const { body } = await request('GET', `/v1/tasks/${task.id}/versions/2`)

  expect(body.changes).toMatchObject([
    { field: 'action.headers.cookie', before: MASK, after: `${MASK} (changed)` },
  ])
  expect(body.definition.action.headers).toEqual(maskedHeaders)
})

test('a task can be edited and sent back with masks, which keep the stored secrets', async () => {
  const { body: task } = await create({ key: 'kept' })
  expect(task.action.headers).toEqual(maskedHeaders)

  const edited = await patch(task.id, {
    action: { ...task.action, url: `${sink.url}/edited`, headers: { ...maskedHeaders, 'x-plain': 'new' } },
  })
  await runOf(task.id)
  const replaced = await request('PUT', '/v1/tasks/by-key/kept', {
    action: { ...edited.body.action, url: `${sink.url}/replaced` },
    schedule: { type: 'manual' },
  })
  await runOf(task.id, { action: { headers: { authorization: MASK, 'x-plain': 'once' } } })

  expect([edited.status, replaced.status]).toEqual([200, 200])
  const sent = { authorization: `Bearer ${CANARY}`, 'x-api-key': CANARY, cookie: `sid=${CANARY}` }
  expect(lastHit('/edited')?.headers).toMatchObject({ ...sent, 'x-plain': 'new' })
  expect(lastHit('/replaced')?.headers).toMatchObject({ ...sent, 'x-plain': 'once' })
})

test('sending back the masked URL of a Slack webhook keeps the stored URL', async () => {
  const action = { type: 'slack', url: `${sink.url}/services/${CANARY}`, text: 'first' }
  const { body: task } = await create({ action })
  expect(task.action.url).toBe(`${sink.url}/${MASK}`)

  await patch(task.id, { action: { ...task.action, text: 'second' } })
  await runOf(task.id)

  expect(lastHit(`/services/${CANARY}`)?.body).toBe('{"text":"second"}')
})

test.each([
  ['on create', null, {}, '/action/headers/Authorization', 'no secret is stored here'],
  [
    'for a header that was not stored',
    {},
    { 'x-other-key': MASK },
    '/action/headers/x-other-key',
    'no secret is stored here',
  ],
  [
    'for a header that is no secret',
    {},
    { 'x-plain': MASK },
    '/action/headers/x-plain',
    'no secret is stored here',
  ],
])('a mask without a stored secret is refused: %s', async (_, stored, headers, pointer, words) => {
  const action = { ...secretAction, headers: { ...maskedHeaders, ...headers } }
  const task = stored && (await create()).body

  const answer = task ? await patch(task.id, { action }) : await create({ action })

  expect(answer).toMatchObject({ status: 422, body: { code: 'invalid_input' } })
  expect(answer.body.errors[0]).toMatchObject({ pointer, detail: expect.stringContaining(words) })
})

test('an edit can neither send a stored secret to another origin nor reveal it', async () => {
  const { body: task } = await create()
  const { body: slack } = await create({
    action: { type: 'slack', url: `${sink.url}/services/${CANARY}`, text: 'x' },
  })

  const elsewhere = await patch(task.id, { action: { ...task.action, url: 'https://example.com/' } })
  const shown = await patch(slack.id, { action: { type: 'webhook', url: slack.action.url } })

  expect(elsewhere.status).toBe(422)
  expect(elsewhere.body.detail).toContain('only sent to the origin it was stored for')
  expect(shown.status).toBe(422)
  expect(shown.body.detail).toContain('send the whole address')
})

test('deleting a task erases its secrets from all versions, including abridged ones', async () => {
  const { body: task } = await create({ metadata: { long: 'x'.repeat(5_000) } })
  await patch(task.id, { name: 'second' })
  await patch(task.id, {
    action: { type: 'slack', url: `${sink.url}/services/${CANARY}`, text: 'y'.repeat(5_000) },
  })
  expect(await storedCanaries(task.id)).toBe(3)

  await request('DELETE', `/v1/tasks/${task.id}`)

  expect(await storedCanaries(task.id)).toBe(0)
})

test('a cancelled task keeps its secrets: only deletion is final', async () => {
  const { body: task } = await create()

  await request('POST', `/v1/tasks/${task.id}/cancel`)

  expect(await storedCanaries(task.id)).toBe(1)
})
