/** Secrets as runs use them: values reach the receivers of their attempts, and nothing else. */

import { expect, test } from 'vitest'
import { newKey } from '../../src/core/secret/key-ring.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { readEverySecret } from '../../src/store/secrets/secrets.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { logOf } from '../support/logs.ts'
import { aManualTask, startTestNode } from '../support/node.ts'
import { aWorker } from '../support/remote-worker.ts'
import { startSharedSink } from '../support/sink.ts'

const CANARY = 'canary/7d1f "über" +ö'
const database = await createTestDatabase()
const { db } = database
const secretsKey = newKey()
const node = await startTestNode(database, { secretsKey })
/** It tells everything that it was told, in every form. */
const sink = await startSharedSink(({ path, headers, body }) => ({
  status: path.startsWith('/fails') ? 500 : 200,
  headers: { 'content-type': 'text/plain', 'x-echo': encodeURIComponent(String(headers['x-token'] ?? '')) },
  body: JSON.stringify({ path, headers, body, base64: Buffer.from(`x${path}${body}`).toString('base64') }),
}))

const trigger = async (taskId: string): Promise<string> =>
  (await node.request('POST', `/v1/tasks/${taskId}/trigger`, {})).body.id
const ended = (runId: string) =>
  eventually(async () => {
    const { body } = await node.request('GET', `/v1/runs/${runId}`)
    return body.endedAt !== null && body
  })
const runOf = async (action: object) =>
  ended(await trigger(await aManualTask(node, { action, retry: { limit: 3 } })))
const set = (name: string, value: string) => node.request('PUT', `/v1/secrets/${name}`, { value })
const lastHit = (path: string) => sink.hits.findLast((hit) => hit.path.startsWith(path))

test('a request carries the secret values, and its stored run does not', async () => {
  await set('TOKEN', CANARY)
  await set('PATH', 'services/T0+1')
  const headers = { 'x-token': 'secret-free', 'x-ascii': '{{secret.PATH}}' }
  const run = await runOf({
    type: 'http',
    url: `${sink.url}/echo/{{secret.PATH}}?t={{secret.TOKEN}}&l={{literal}}`,
    method: 'POST',
    headers,
    body: { token: '{{secret.TOKEN}}', other: '{{ secret.TOKEN }}' },
  })

  expect(lastHit('/echo')).toMatchObject({
    path: `/echo/services%2FT0%2B1?t=${encodeURIComponent(CANARY)}&l={{literal}}`,
    headers: { 'x-ascii': 'services/T0+1', 'content-type': 'application/json' },
    body: JSON.stringify({ token: CANARY, other: '{{ secret.TOKEN }}' }),
  })
  expect(run.state).toBe('completed')
  const kept = JSON.stringify(run.attempts)
  expect(kept).toContain('[secret TOKEN]')
  expect(kept).toContain('[secret PATH]')
  for (const form of [CANARY, 'canary', encodeURIComponent(CANARY), 'services/T0+1', 'services%2FT0%2B1'])
    expect(kept).not.toContain(form)
})

test('a failure exposes no secret, and the next attempt uses a replaced value', async () => {
  await set('ROTATED', 'canary-first')
  const id = await aManualTask(node, {
    action: { type: 'ping', url: `${sink.url}/fails/{{secret.ROTATED}}` },
    retry: { limit: 1, initial: '1s', max: '1s' },
  })
  const runId = await trigger(id)
  await eventually(async () => lastHit('/fails/canary-first'))
  await set('ROTATED', 'canary-second')

  const run = await ended(runId)

  expect(run).toMatchObject({ state: 'permanently_failed' })
  expect(JSON.stringify(run)).not.toContain('canary')
  expect(sink.hits.filter(({ path }) => path.startsWith('/fails')).map(({ path }) => path)).toEqual([
    '/fails/canary-first',
    '/fails/canary-second',
  ])
})

test('a missing secret fails the run at its first attempt, with a reason, and sends nothing', async () => {
  const id = await aManualTask(node, {
    action: { type: 'ping', url: `${sink.url}/missing/{{secret.NOT_THERE}}` },
  })
  const why = (await node.request('GET', `/v1/tasks/${id}/why`)).body

  const run = await ended(await trigger(id))

  expect(run).toMatchObject({
    state: 'permanently_failed',
    attempts: [
      { error: { code: 'secret_missing', message: expect.stringContaining('belfry secret set NOT_THERE') } },
    ],
  })
  expect(lastHit('/missing')).toBeUndefined()
  expect(JSON.stringify(why)).toContain('secret_missing')
})

test('a value that is invalid in a header fails the attempt and is not exposed', async () => {
  await set('LINES', 'canary-line\r\nx-injected: yes')

  const run = await runOf({
    type: 'http',
    url: `${sink.url}/lines`,
    method: 'GET',
    headers: { 'x-a': '{{secret.LINES}}' },
  })

  expect(run).toMatchObject({
    state: 'permanently_failed',
    attempts: [{ error: { code: 'secret_unusable' } }],
  })
  expect(JSON.stringify(run)).not.toContain('canary-line')
  expect(lastHit('/lines')).toBeUndefined()
})

test('an override uses a secret only in the field in which the task does, also when its run is repeated', async () => {
  await set('HEADER', 'canary-of-a-header')
  await set('BODY', 'canary-of-a-body')
  const headers = { authorization: 'Bearer {{secret.HEADER}}' }
  const action = { type: 'http', url: `${sink.url}/moved`, method: 'POST', headers }
  const id = await aManualTask(node, { action: { ...action, body: { token: '{{secret.BODY}}' } } })
  const triggerWith = (members: object) =>
    node.request('POST', `/v1/tasks/${id}/trigger`, { action: members })

  const moved = await triggerWith({ body: { title: '{{secret.HEADER}}' } })
  const other = await triggerWith({ headers: { 'x-title': '{{secret.HEADER}}' } })
  const same = await triggerWith({
    headers: { Authorization: 'token {{secret.HEADER}}' },
    body: ['{{secret.BODY}}'],
  })
  const run = await ended(same.body.id)
  await node.request('PATCH', `/v1/tasks/${id}`, { action: { ...action, body: 'none' } })
  const again = await node.request('POST', `/v1/runs/${run.id}/retry`)

  expect(moved.body).toMatchObject({ status: 422, errors: [{ pointer: '/action/body' }] })
  expect(moved.body.errors[0].detail).toContain('the secret HEADER, but body of the task does not')
  expect(other.body).toMatchObject({ status: 422, errors: [{ pointer: '/action/headers/x-title' }] })
  expect(other.body.errors[0].detail).toContain('the header x-title of the task')
  expect(run.state).toBe('completed')
  expect(sink.hits.filter(({ path }) => path === '/moved')).toMatchObject([
    { headers: { authorization: 'token canary-of-a-header' }, body: '["canary-of-a-body"]' },
  ])
  expect(again.body).toMatchObject({ code: 'override_outdated', errors: [{ pointer: '/action/body' }] })
})

test('a secret in a Slack address is filled in for the call and redacted from the run', async () => {
  await set('SLACK', 'T000/B000/canary')

  const run = await runOf({
    type: 'slack',
    url: `${sink.url}/hook/{{secret.SLACK}}`,
    text: 'hi {{secret.SLACK}}',
  })

  expect(lastHit('/hook/T000%2FB000%2Fcanary')?.body).toBe('{"text":"hi T000/B000/canary"}')
  expect(JSON.stringify(run)).not.toContain('B000')
})

test('a literal Slack address is called as given, and its token is redacted from the run', async () => {
  const path = '/given/T000/B000/CanaryTokenOfAnAddress00'

  const run = await runOf({ type: 'slack', url: `${sink.url}${path}`, text: 'hi' })

  expect(lastHit('/given')).toMatchObject({ path, body: '{"text":"hi"}' })
  expect(JSON.stringify(run)).toMatch(/\[secret SLACK_[0-9A-F]{16}\]/)
  expect(JSON.stringify(run)).not.toContain('CanaryToken')
})

test('a remote worker receives the secret values of its attempt, and its reports are redacted', async () => {
  await set('HANDLED', CANARY)
  const id = await aManualTask(node, {
    action: { type: 'handler', name: 'greet', payload: { token: '{{secret.HANDLED}}', n: 1 } },
  })
  const worker = await aWorker(node.url, { handlers: ['greet'] })
  const runId = await trigger(id)
  const [given] = await worker.claim(1)
  if (!given) throw new Error('nothing was given')
  expect(given.payload).toEqual({ token: CANARY, n: 1 })
  // What was current when the attempt began is looked for, although another value is now.
  await set('HANDLED', 'another-value')
  const status = { runId, fence: given.fence, progress: { fraction: 0.5, message: `at ${CANARY}` } }
  await worker.say('heartbeat', { runs: [status] })
  const [progress] = await db.run(
    sql<{ message: string }>`select message from progress where run_id = ${runId}`,
  )
  const at = new Date().toISOString()
  const halves = [CANARY.slice(0, 9), `${CANARY.slice(9)} now\n`]
  const lines = halves.map((message) => ({ at, stream: 'stdout', message }))
  await worker.say('log', { runs: [{ runId, fence: given.fence, first: 0, lines }] })
  const report = {
    runId,
    fence: given.fence,
    outcome: 'completed',
    result: { echo: JSON.stringify({ token: CANARY }) },
    log: [{ at, level: 'info', message: `got ${CANARY}` }],
    logFirst: 2,
  }

  const first = await worker.say('complete', { runs: [report] })
  const again = await worker.say('complete', { runs: [report] })

  expect(progress?.message).toBe('at [secret HANDLED]')
  expect([first.body, again.body]).toMatchObject(Array(2).fill({ runs: [{ recorded: true }] }))
  const run = await ended(runId)
  expect(run.state).toBe('completed')
  expect(JSON.stringify(run)).toContain('[secret HANDLED]')
  expect(JSON.stringify(run)).not.toContain('canary')
  expect((await logOf(node, runId)).map(({ text }) => text)).toEqual([
    '[secret HANDLED] now',
    'got [secret HANDLED]',
  ])
})

test('a secret that a worker splits over two requests is redacted, even across nodes', async () => {
  await set('SPLIT', 'canary-in-two-halves')
  const other = await startTestNode(database, { secretsKey, roles: 'api' })
  const at = new Date().toISOString()
  const say = async (nodes: readonly (typeof node)[]) => {
    const action = { type: 'handler', name: 'split', payload: { token: '{{secret.SPLIT}}' } }
    const runId = await trigger(await aManualTask(node, { action }))
    const worker = await aWorker(node.url, { handlers: ['split'] })
    const [given] = await worker.claim(1)
    for (const [first, message] of ['the canary-in-', 'two-halves\n'].entries()) {
      const lines = [{ at, stream: 'stdout', message }]
      const body = { runs: [{ runId, fence: given?.fence, first, lines }] }
      await worker.say('log', body, nodes[first]?.url)
    }
    return (await logOf(node, runId)).map(({ text }) => text)
  }

  expect(await say([node, node])).toEqual(['the [secret SPLIT]', '[secret SPLIT]'])
  expect(await say([node, other])).toEqual(['the [secret SPLIT]', '[secret SPLIT]'])
})

test('a deleted secret is still redacted from reports of running attempts and given to no new attempt', async () => {
  await set('LEAVING', 'canary-that-leaves')
  const task = await aManualTask(node, {
    action: { type: 'handler', name: 'leaving', payload: { token: '{{secret.LEAVING}}' } },
  })
  const runId = await trigger(task)
  const worker = await aWorker(node.url, { handlers: ['leaving'] })
  const [given] = await worker.claim(1)
  const deleted = await node.request('DELETE', '/v1/secrets/LEAVING?force=true')

  await worker.say('complete', {
    runs: [{ runId, fence: given?.fence, outcome: 'completed', result: given?.payload }],
  })
  const run = await ended(runId)
  const nextId = await trigger(task)
  const claimed = worker.claim(1, { waitMs: 5_000 })
  const next = await ended(nextId)
  const again = await set('LEAVING', 'another value')

  expect(given?.payload).toEqual({ token: 'canary-that-leaves' })
  expect(deleted.status).toBe(204)
  expect(JSON.stringify(run)).toContain('[secret LEAVING]')
  expect(JSON.stringify(run)).not.toContain('canary')
  expect(next.attempts).toMatchObject([{ error: { code: 'secret_missing' } }])
  expect(await claimed).toEqual([])
  expect(again).toMatchObject({ status: 201, body: { version: 2 } })
})

test('a handler whose secret is missing fails without being given to a worker', async () => {
  const id = await aManualTask(node, {
    action: { type: 'handler', name: 'lost', payload: '{{secret.NOWHERE}}' },
  })
  const worker = await aWorker(node.url, { handlers: ['lost'] })
  const runId = await trigger(id)

  const claimed = worker.claim(1, { waitMs: 5_000 })

  expect(await ended(runId)).toMatchObject({ attempts: [{ error: { code: 'secret_missing' } }] })
  expect(await claimed).toEqual([])
})

test('a value that a run cannot use fails that run at once, and the worker is given the other runs', async () => {
  await set('TWO_LINES', 'first\nsecond')
  const labels = ['edge']
  const aCall = (headers: object) =>
    aManualTask(node, { action: { type: 'http', url: `${sink.url}/edge`, method: 'GET', headers }, labels })
  const unusable = await trigger(await aCall({ authorization: 'Bearer {{secret.TWO_LINES}}' }))
  const good = await trigger(await aCall({ authorization: 'Bearer none' }))
  const worker = await aWorker(node.url, { actions: ['http'], version: '0.2.0', labels })
  const given: string[] = []

  await eventually(async () => {
    given.push(...(await worker.claim(10, { waitMs: 1_000 })).map(({ runId }) => runId))
    return given.includes(good)
  })
  if (!(await node.request('GET', `/v1/runs/${unusable}`)).body.endedAt) await worker.claim(10, { waitMs: 0 })

  expect(await ended(unusable)).toMatchObject({
    state: 'permanently_failed',
    attempts: [{ error: { code: 'secret_unusable' } }],
  })
  expect(given).toEqual([good])
})

test('thousands of old values of one secret do not keep the redactor from redacting another', async () => {
  await set('A_RENEWED', 'renewed')
  await set('B_STEADY', 'steady')
  await db.run(sql`update secret set version = 5000 where name = 'A_RENEWED'`)
  await db.run(sql`
    insert into secret_version (project_id, name, version, value, key_id, replaced_at)
    select project_id, name, version + n, value, key_id, case when n < 4999 then now() end
    from secret_version, generate_series(1, 4999) n where name = 'A_RENEWED' and version = 1`)

  const values = await db.run(readEverySecret(DEFAULT_PROJECT_ID, ['A_RENEWED', 'B_STEADY']))

  expect(values.slice(0, 3).map(({ name, version }) => [name, version])).toEqual([
    ['A_RENEWED', 5_000],
    ['B_STEADY', 1],
    ['A_RENEWED', 4_999],
  ])
  expect(values.length).toBeLessThanOrEqual(2_000)
})
