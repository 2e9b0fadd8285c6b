/** Actions that remote workers perform: who is given them, with what, and what is stored of their ends. */
import { expect, test } from 'vitest'
import { PROGRAMS_LINE, sideLaneOf } from '../../../src/core/run/lane.ts'
import { sql } from '../../../src/store/database/sql.ts'
import { registerSideLanes } from '../../../src/store/queues/side-lanes.ts'
import { aFile, download, sha256 } from '../../files/support.ts'
import { aWorker, type GivenRun } from '../../support/remote-worker.ts'
import { completed, held, type Protocol } from './protocol.ts'

const VERSION = '0.2.0'
const aRunner = (url: string, more: Record<string, unknown> = {}) =>
  aWorker(url, { actions: ['exec'], version: VERSION, ...more })

let labels = 0
/** A label that no other test uses. */
const aLabel = () => `place=${++labels}`

/** Where the run of a task waits. */
const laneOf = (taskId: string) =>
  sql<{ lane: number; inLine: number }>`
    select a.lane, r.lane as "inLine" from agenda a join ready r using (run_id) where task_id = ${taskId}`

/** Lets the run of a task wait in another lane. */
const moveTo = (taskId: string, lane: number) => sql`
  with moved as (update agenda set lane = ${lane}::bigint where task_id = ${taskId} returning run_id)
  update ready r set lane = ${lane}::bigint from moved m where m.run_id = r.run_id`

/** The same beside its own. */
const putAside = (taskId: string, side: number) => sql`
  with moved as (update agenda set side = ${side}::bigint where task_id = ${taskId} returning run_id)
  update ready r set lane = ${side}::bigint from moved m where m.run_id = r.run_id`

export function actions({ db, node, other, runOf, isPending }: Protocol): void {
  const create = async (task: Record<string, unknown>): Promise<string> => {
    const { status, body } = await node.request('POST', '/v1/tasks', task)
    expect(status, JSON.stringify(body)).toBe(201)
    return body.id
  }

  test('a program is given to a worker that runs programs, with its files and a token of the attempt', async () => {
    const bytes = Buffer.from('#!/bin/sh\necho hello\n')
    const file = await aFile(node, bytes, 'hello.sh')
    const label = aLabel()
    const action = {
      type: 'exec',
      file,
      args: ['a'],
      files: [
        { path: 'again', file },
        { path: 't', content: 'x' },
      ],
    }
    const taskId = await create({ action, labels: [label], tracingId: 'order-17' })
    const handler = await aWorker(node.url, { handlers: ['resize'], labels: [label] })
    expect(await handler.claim(10, { waitMs: 0 })).toEqual([])

    const worker = await aRunner(node.url, { labels: [label] })
    const [run] = (await worker.claim(10)) as [GivenRun]

    expect(run).toMatchObject({ taskId, handler: '', action, tracingId: 'order-17' })
    expect(run.program?.files).toMatchObject([
      { id: file, name: 'hello.sh', sha256: sha256(bytes), size: bytes.length },
    ])
    expect(run.program?.attemptToken.split('.')).toHaveLength(3)
    expect((await download(other, run.program?.files[0]?.url ?? '')).bytes).toEqual(bytes)
  })

  test('the signed address of a file is invalid after its attempt has ended', async () => {
    const file = await aFile(node, Buffer.from('some program'))
    const label = aLabel()
    await create({ action: { type: 'exec', file }, labels: [label] })
    const worker = await aRunner(node.url, { labels: [label] })
    const [run] = (await worker.claim(10)) as [GivenRun]

    await worker.say('complete', { runs: [completed(run, { result: { exitCode: 0 } })] })

    expect((await download(node, run.program?.files[0]?.url ?? '')).status).toBe(401)
  })

  test('the result of an action is stored unchanged', async () => {
    const label = aLabel()
    await create({ action: { type: 'exec', command: '/bin/true' }, labels: [label] })
    const worker = await aRunner(node.url, { labels: [label], commands: ['/bin/true'] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    const report = { runs: [completed(run, { result: { exitCode: 0, stdout: 'done' } })] }

    const first = await worker.say('complete', report)
    const again = await worker.say('complete', report)

    expect([first, again].map(({ body }) => body.runs[0].recorded)).toEqual([true, true])
    expect(await runOf(run)).toMatchObject({ state: 'completed', output: { exitCode: 0, stdout: 'done' } })
  })

  test('a failed action keeps its error', async () => {
    const label = aLabel()
    await create({ action: { type: 'exec', command: '/bin/false' }, labels: [label], retry: { limit: 0 } })
    const worker = await aRunner(node.url, { labels: [label], commands: ['/bin/false'] })
    const [run] = (await worker.claim(1)) as [GivenRun]
    const error = { code: 'exit_code', message: 'The program exited with code 1.', detail: { exitCode: 1 } }

    await worker.say('complete', { runs: [{ ...held(run), outcome: 'failed', error }] })

    expect(await runOf(run)).toMatchObject({ state: 'permanently_failed', error })
  })

  test('a command is given only to workers that offer it', async () => {
    const label = aLabel()
    await create({ action: { type: 'exec', command: '/usr/bin/rsync' }, labels: [label] })
    const without = await aRunner(node.url, { labels: [label], commands: ['/usr/bin/tar'] })
    expect(await without.claim(1, { waitMs: 0 })).toEqual([])

    const worker = await aRunner(node.url, { labels: [label], commands: ['/usr/bin/rsync'] })

    expect(await worker.claim(1)).toMatchObject([
      { action: { command: '/usr/bin/rsync' }, program: { files: [] } },
    ])
  })

  test('a worker can change its commands in a heartbeat', async () => {
    const label = aLabel()
    const worker = await aRunner(node.url, { labels: [label], commands: ['/bin/false'] })
    const waiting = worker.claim(1)
    const taskId = await create({ action: { type: 'exec', command: '/bin/true' }, labels: [label] })
    await isPending(taskId)

    const told = await worker.say('heartbeat', { commands: ['/bin/true'] }, other.url)
    const [run] = await worker.claim(1, { url: other.url })

    expect([told.status, run?.taskId]).toEqual([200, taskId])
    expect(await waiting).toEqual([])
    const { body } = await node.request('GET', '/v1/workers')
    const { offers } = body.items.find(({ id }: { id: string }) => id === worker.id)
    expect(offers).toMatchObject({ actions: ['exec'], commands: ['/bin/true'], labels: [label] })
  })

  test('only workers that run programs can offer commands', async () => {
    const worker = await aWorker(node.url, { actions: ['http'], version: VERSION })

    const { status, body } = await worker.say('heartbeat', { commands: ['/bin/true'] })

    expect(status).toBe(422)
    expect(body.errors[0].pointer).toBe('/commands')
  })

  test('calls with a label go to workers that make calls', async () => {
    const label = aLabel()
    const action = { type: 'webhook', url: 'https://10.1.2.3/hook', body: { a: [1] } }
    await create({ action, labels: [label] })
    const programs = await aRunner(node.url, { labels: [label] })
    expect(await programs.claim(1, { waitMs: 0 })).toEqual([])

    const worker = await aWorker(node.url, { actions: ['http'], version: VERSION, labels: [label] })
    const [run] = (await worker.claim(1)) as [GivenRun]

    expect(run).toMatchObject({ action: { ...action, body: '{"a":[1]}' }, program: null })
    expect(run.call).toMatchObject({ signature: null, networks: null })
  })

  test('email is never given to a remote worker', async () => {
    const label = aLabel()
    const action = { type: 'email', to: 'ann@example.com', subject: 'Report', text: 'Done' }
    await create({ action, labels: [label] })
    const taskId = await create({ action, labels: [label], concurrencyKey: 'mail' })
    await isPending(taskId)
    const worker = await aWorker(node.url, { actions: ['exec', 'http'], version: VERSION, labels: [label] })

    expect(await worker.claim(10, { waitMs: 0 })).toEqual([])
    const { body } = await node.request('GET', `/v1/tasks/${taskId}/why`)
    expect(body).toMatchObject({ code: 'no_capable_worker', facts: { runState: 'pending' } })
  })

  test('email that an older release queued for remote workers is left to nodes', async () => {
    const label = aLabel()
    const action = { type: 'email', to: 'ann@example.com', subject: 'Report', text: 'Done' }
    const call = await create({ action: { type: 'ping', url: 'https://10.1.2.3/' }, labels: [label] })
    const taskId = await create({ action, labels: [label] })
    for (const id of [call, taskId]) await isPending(id)
    const [before] = await db.run(laneOf(taskId))
    await db.run(moveTo(taskId, (await db.run(laneOf(call)))[0]?.lane ?? 0))
    const worker = await aWorker(node.url, { actions: ['http'], version: VERSION, labels: [label] })

    expect(await worker.claim(10)).toMatchObject([{ taskId: call }])

    await isPending(taskId)
    expect(await db.run(laneOf(taskId))).toEqual([before])
    expect(await worker.claim(10, { waitMs: 0 })).toEqual([])
  })

  test('a program that waits for room on a node is given to a remote worker', async () => {
    const label = aLabel()
    const taskId = await create({ action: { type: 'exec', command: '/bin/true' }, labels: [label] })
    await isPending(taskId)
    const [own] = await db.run(laneOf(taskId))
    const side = sideLaneOf(own?.lane ?? 0, PROGRAMS_LINE)
    await db.run(registerSideLanes([side]))
    await db.run(putAside(taskId, side.id))

    const worker = await aRunner(node.url, { labels: [label], commands: ['/bin/true'] })

    expect(await worker.claim(1)).toMatchObject([{ taskId }])
  })

  test('a worker for actions is refused if its release is too old', async () => {
    const offer = { actions: ['exec'], version: '0.1.0' }

    const { status, body } = await node.request('POST', '/v1/worker/register', offer)

    expect(status).toBe(409)
    expect(body).toMatchObject({ code: 'worker_too_old' })
    expect(body.detail).toContain('0.1.0')
  })

  test.each([
    ['nothing', {}, '/handlers'],
    ['neither handlers nor actions', { handlers: [], actions: [] }, '/handlers'],
    ['an unknown action', { actions: ['email'] }, '/actions/0'],
    ['commands without exec', { actions: ['http'], commands: ['/bin/true'] }, '/commands'],
    ['a command that is no path', { actions: ['exec'], commands: ['true'] }, '/commands/0'],
    ['a label of ours', { actions: ['exec'], labels: ['belfry:secrets'] }, '/labels/0'],
  ])('a worker that offers %s is refused', async (_, offer, pointer) => {
    const { status, body } = await node.request('POST', '/v1/worker/register', { version: VERSION, ...offer })

    expect(status).toBe(422)
    expect(body.errors[0].pointer).toBe(pointer)
  })

  test('workers are listed with the actions and commands that they offer', async () => {
    const worker = await aRunner(node.url, { labels: ['os=linux'], commands: ['/bin/true'] })

    const { body } = await node.request('GET', '/v1/workers')

    expect(body.items.find(({ id }: { id: string }) => id === worker.id)?.offers).toEqual({
      handlers: [],
      actions: ['exec'],
      commands: ['/bin/true'],
      labels: ['os=linux'],
      queues: null,
    })
  })
}
