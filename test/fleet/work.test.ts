/** What `belfry worker` does besides programs, and what neither it nor the token of one of its attempts may do. */
import { cpSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import { aDirectory, type Belfry, MAIN, runBelfry } from '../support/process.ts'
import { request } from '../support/request.ts'
import { startSink } from '../support/sink.ts'
import { aLabel, aScript, aTask, ended, latestRun, processes, startServer, startWorker } from './support.ts'

const server = await startServer()
const { secret } = (await server.request('POST', '/v1/signing-secrets', {})).body
const ROOT = dirname(dirname(MAIN))

test('a worker makes the calls that require its label, signed by the node', {
  timeout: 120_000,
}, async () => {
  const label = aLabel()
  // Nodes notice a new secret after some seconds; until then calls are not signed.
  const sink = await startSink(({ headers }) => ({ status: headers['webhook-signature'] ? 200 : 503 }))
  await startWorker(server.url, { args: ['--label', label, '--private-addresses', 'allow', '--exec', 'off'] })

  const action = { type: 'webhook', url: `${sink.url}/hook`, body: { order: 17 } }
  const retry = { limit: 60, initial: '1s', max: '1s' }
  const run = await ended(server, await aTask(server, { action, labels: [label], retry }))

  const { body } = await server.request('GET', '/v1/workers')
  const worker = body.items.find(({ id }: { id: string }) => id === run.workerId)
  expect(worker?.offers).toMatchObject({ actions: ['http'], labels: expect.arrayContaining([label]) })
  expect(run).toMatchObject({ state: 'completed', output: { status: 200 } })
  const hit = sink.hits.at(-1)
  expect(hit).toMatchObject({ method: 'POST', path: '/hook', headers: { 'webhook-id': run.id } })
  const verified = new Webhook(secret).verify(hit?.body ?? '', hit?.headers as Record<string, string>)
  expect(verified).toEqual({ order: 17 })
})

test('a worker provides the functions of a module as handlers', { timeout: 120_000 }, async () => {
  const folder = aDirectory()
  const module = join(folder, 'handlers.mjs')
  writeFileSync(
    module,
    `export const resize = ({ width }, ctx) => { ctx.log('resizing'); return { width: width / 2 } }
     export default { crop: () => { throw new Error('too small') } }
     export const notAHandler = 17`,
  )
  const worker = await startWorker(server.url, { args: ['--handlers', module, '--exec', 'off', '--no-http'] })

  const resized = await aTask(server, { action: { type: 'handler', name: 'resize', payload: { width: 8 } } })
  const cropped = await aTask(server, { action: { type: 'handler', name: 'crop' }, retry: { limit: 0 } })

  expect(worker.stdout).toMatch(/handlers +crop, resize/)
  expect(await ended(server, resized)).toMatchObject({ state: 'completed', output: { result: { width: 4 } } })
  expect(await ended(server, cropped)).toMatchObject({
    state: 'permanently_failed',
    error: { code: 'handler_failed', message: 'too small' },
  })
})

test('a module that exports no functions is refused', { timeout: 120_000 }, async () => {
  const module = join(aDirectory(), 'empty.mjs')
  writeFileSync(module, 'export const answer = 42')

  const { code, stderr } = await runBelfry(['worker', '--server', server.url, '--handlers', module])

  expect(code).toBe(2)
  expect(stderr).toContain('exports no functions; each function that it exports is a handler.')
})

test('a worker that can perform nothing says so and exits', { timeout: 120_000 }, async () => {
  const args = ['worker', '--server', server.url, '--exec', 'off', '--no-http']

  const { code, stdout, stderr } = await runBelfry(args)

  expect(code).toBe(2)
  expect(stdout).toContain('off (--exec off)')
  expect(stderr).toContain('error: This worker can perform nothing: it runs no programs, makes no calls')
})

test('a worker with an outdated version is refused and exits', { timeout: 120_000 }, async () => {
  const old = aDirectory()
  writeFileSync(join(old, 'package.json'), '{"name": "belfry", "version": "0.1.9", "type": "module"}')
  mkdirSync(join(old, 'dist'))
  for (const name of readdirSync(dirname(MAIN)).filter((file) => file.endsWith('.js')))
    cpSync(join(dirname(MAIN), name), join(old, 'dist', name))
  symlinkSync(join(ROOT, 'node_modules'), join(old, 'node_modules'))

  const args = ['worker', '--server', server.url, '--exec', 'off']
  const { code, stderr } = await runBelfry(args, { program: join(old, 'dist', 'main.js') })

  expect(code).toBe(5)
  expect(stderr).toMatch(
    /error: This worker is of version 0\.1\.9\+\w+; this server works with 0\.2\.0 or newer\. Update the worker/,
  )
})

test('the token of an attempt is valid only for that attempt', {
  timeout: 120_000,
}, async () => {
  const [label, project] = [aLabel(), 'other']
  // From the first key on, nobody is served without one: this test comes last.
  const admin = await aKey(server, 'admin')
  const owner: Belfry = Object.create(server, {
    request: { value: (...[method, path, body]: Asked) => request(server.url, method, path, body, admin) },
  })
  const { authorization } = await aKey(owner, 'worker')
  const key = authorization.slice('Bearer '.length)
  const worker = await startWorker(server.url, { args: ['--api-key', key, '--label', label, '--no-http'] })
  const file = await aScript(owner, ['echo begun', 'while [ ! -e /nowhere ]; do sleep 0.2; done'])
  const task = { action: { type: 'exec', file }, labels: [label] }
  const [mine, foreign] = [await aTask(owner, task), await aTask(owner, task)]
  await owner.request('POST', '/v1/projects', { name: project })
  const tokens = await eventually(async () => {
    const found = runnersOf(worker.pid)
    return found.length === 2 && found
  })
  const runs = await Promise.all([mine, foreign].map((id) => latestRun(owner, id)))
  const token = tokens.find((one) => claimsOf(one).subject === runs[0].id) ?? ''
  const send = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    request(server.url, method, path, body, { authorization: `Bearer ${token}`, ...headers })
  const lines = [{ at: new Date().toISOString(), message: 'forged' }]
  const logOf = ({ id }: { id: string }, { fence }: { fence: number }) => ({
    runs: [{ runId: id, fence, first: 0, lines }],
  })
  const [own, others] = [token, ...tokens.filter((one) => one !== token)].map(claimsOf)

  const elsewhere = [
    await send('POST', '/v1/worker/log', logOf(runs[1], others)),
    await send('POST', '/v1/worker/log', logOf(runs[0], { fence: own.fence + 1 })),
  ]
  const asWorker = [
    await send('POST', '/v1/worker/complete', {
      runs: [{ runId: runs[0].id, fence: own.fence, outcome: 'completed' }],
    }),
    await send('POST', '/v1/worker/claim', { requestId: crypto.randomUUID(), limit: 1, waitMs: 0 }),
    await send('POST', '/v1/worker/stop', {}),
  ]
  const asKey = [
    await send('GET', '/v1/tasks'),
    await send('GET', '/v1/tasks', undefined, { 'belfry-project': project }),
    await send('POST', `/v1/runs/${runs[1].id}/cancel`, {}),
    await send('POST', '/v1/worker/register', { handlers: ['resize'] }),
  ]
  for (const { id } of runs) await owner.request('POST', `/v1/runs/${id}/cancel`, {})
  const before = await Promise.all([mine, foreign].map((id) => ended(owner, id)))
  const after = [
    await send('POST', '/v1/worker/log', logOf(runs[0], own)),
    await send('POST', '/update_status', { status: 'success' }),
    await send('POST', '/health_check', {}),
  ]

  expect(elsewhere.map(({ status, body }) => [status, body.code])).toEqual([
    [403, 'forbidden'],
    [403, 'forbidden'],
  ])
  expect(asWorker.map(({ status }) => status)).toEqual([401, 401, 401])
  expect(asKey.map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(after.map(({ status, body }) => [status, body.lost ?? body.code])).toEqual([
    [200, [runs[0].id]],
    [409, 'attempt_ended'],
    [409, 'attempt_ended'],
  ])
  expect(before.map(({ state, attempt }) => [state, attempt])).toEqual([
    ['cancelled', 1],
    ['cancelled', 1],
  ])
  expect(await Promise.all([mine, foreign].map((id) => latestRun(owner, id)))).toEqual(before)
  for (const { id } of runs) {
    const { body } = await owner.request('GET', `/v1/runs/${id}/log`)
    expect(body.items.map(({ text }: { text: string }) => text)).toEqual(['begun'])
  }
})

/** The arguments of a request. */
type Asked = Parameters<Belfry['request']>

/** A new key, as the header that carries it. */
async function aKey({ request: ask }: Belfry, role: string): Promise<{ authorization: string }> {
  const { status, body } = await ask('POST', '/v1/keys', { name: role, role })
  expect(status, JSON.stringify(body)).toBe(201)
  return { authorization: `Bearer ${body.key}` }
}

/** The tokens of the runners that a worker has started. */
const runnersOf = (worker: number): string[] => {
  const own = new Set(
    processes('stat').flatMap(({ pid, text }) =>
      Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === worker ? pid : [],
    ),
  )
  return processes('environ').flatMap(({ pid, text }) =>
    own.has(pid) ? (/(?:^|\0)BELFRY_ATTEMPT_TOKEN=([^\0]+)/.exec(text)?.[1] ?? []) : [],
  )
}

/** What a token says. */
const claimsOf = (token: string | undefined) =>
  JSON.parse(Buffer.from((token ?? '').split('.')[1] ?? '', 'base64url').toString())
