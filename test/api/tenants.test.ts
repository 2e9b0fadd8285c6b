/** Projects cannot see one another: `npm run suite tenants` sends many more of these requests. */
import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { prepareTenants, randomFrom } from './tenants/random-requests.ts'
import { digestOf } from './tenants/stored.ts'
import { follow } from './tenants/streams.ts'
import { makeThings } from './tenants/things.ts'

/** Instants, durations, and the ids of requests. */
const VARYING = /"requestId":"[^"]*"|\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)|"\w*Ms":\d+/g

const { db } = await createTestDatabase()
const { app, compare, uncovered, stale, send, admin, ours, theirs, things } = await prepareTenants(db)

test('requests about things of others cover every route that can name one', () => {
  expect(uncovered).toEqual([])
  expect(stale).toEqual([])
})

test('what belongs to another project is answered as if it did not exist, and is not changed', async () => {
  const before = await digestOf(db, 'theirs')
  const seed = Math.floor(Math.random() * 1_000_000)

  const { differences } = await compare(400, randomFrom(seed))

  expect(differences, `seed ${seed}`).toEqual([])
  expect(await digestOf(db, 'theirs')).toEqual(before)
})

test('the total number of tasks is visible only to admins of the installation', async () => {
  await db.run(sql`update audit_progress set round_ended_at = now(), round_ms = 1, round_tasks = 4711`)

  const answers = [
    await send('GET', '/v1/stats', undefined, ours),
    await send('GET', '/v1/findings', undefined, ours),
    await send('GET', '/v1/stats', undefined, { ...admin, 'belfry-project': 'ours' }),
  ]

  const [stats, findings, toAdmin] = answers.map(({ body }) => (body.audit ?? body.summary).tasks)
  expect([stats, findings, toAdmin]).toEqual([null, null, 4711])
})

test('how many requests of all projects were refused is visible only to those who may inspect the installation', async () => {
  const answers = await Promise.all(
    [ours, { ...admin, 'belfry-project': 'ours' }].map((as) => send('GET', '/v1/server', undefined, as)),
  )

  expect(answers.map(({ body }) => [body.load.refusals, body.database.place])).toEqual([
    [null, null],
    [0, expect.any(String)],
  ])
})

test('an Idempotency-Key that another project has used is free', async () => {
  const action = { type: 'sleep', duration: '0s' }
  const header = { 'idempotency-key': 'same' }
  const first = await send('POST', '/v1/tasks', { action, name: 'theirs' }, { ...theirs, ...header })

  const answer = await send('POST', '/v1/tasks', { action, name: 'ours' }, { ...ours, ...header })

  expect([first.status, answer.status]).toEqual([201, 201])
  expect(answer.body).toMatchObject({ name: 'ours' })
  expect(answer.body.id).not.toBe(first.body.id)
})

test('the token of a worker reads no run, log or file, whether it exists or not', async () => {
  const { body } = await send('POST', '/v1/worker/register', { handlers: ['x'] }, ours)
  const token = { authorization: `Bearer ${body.token}` }
  const [run, file] = [things.id[5] ?? '', things.id[8] ?? '']
  const pathsOf = (run: string, file: string) => [
    ...[`/v1/runs/${run}`, `/v1/runs/${run}/log`, `/v1/files/${file}`, `/v1/files/${file}/content`],
  ]
  expect((await send('GET', pathsOf(run, file)[0] ?? '', undefined, theirs)).body.state).toBe('running')
  expect((await send('GET', pathsOf(run, file)[3] ?? '', undefined, theirs)).status).toBe(200)

  const answersTo = (paths: string[]) =>
    Promise.all(
      paths.map(async (path) => {
        const { status, body } = await send('GET', path, undefined, token)
        return [status, body.code, body.detail]
      }),
    )
  const foreign = await answersTo(pathsOf(run, file))
  const unknown = await answersTo(pathsOf(randomUUID(), randomUUID()))

  expect(foreign).toEqual(unknown)
  expect(foreign.map(([status]) => status)).toEqual([401, 401, 401, 401])
})

test('what takes no names is answered the same whatever others have', async () => {
  await send('POST', '/v1/projects', { name: 'empty' }, admin)
  const { body } = await send('POST', '/v1/keys', { name: 'k', role: 'admin', project: 'empty' }, admin)
  const key = { authorization: `Bearer ${body.key}` }
  const lists = app.accessTable.filter(
    ({ method, url, access }) =>
      method === 'GET' && !url.includes(':') && access !== 'public' && !/stream|events$/.test(url),
  )
  const read = () =>
    Promise.all(
      lists.map(async ({ url }) => {
        const { status, text } = await send('GET', url, undefined, key)
        return `${url} ${status} ${text.replace(VARYING, '')}`
      }),
    )
  const before = await read()

  await send('POST', '/v1/projects', { name: 'busy' }, admin)
  await makeThings(db, send, { ...admin, 'belfry-project': 'busy' })

  expect(lists.length).toBeGreaterThan(20)
  expect(await read()).toEqual(before)
})

test('streams carry nothing of another project, from whichever position they continue', async () => {
  const tasks = async (headers: Record<string, string>) => {
    const { body } = await send('POST', '/v1/tasks', { action: { type: 'sleep', duration: '0s' } }, headers)
    return body.id as string
  }
  const end = async (task: string, headers: Record<string, string>) => {
    const { body } = await send('POST', `/v1/tasks/${task}/trigger`, { overlap: 'allow' }, headers)
    await send('POST', `/v1/runs/${body.id}/cancel`, undefined, headers)
    return body.id as string
  }
  const [theirTask, ourTask] = [await tasks(theirs), await tasks(ours)]
  const addresses = [
    ['/v1/stream', {}],
    ['/v1/events?after=2020-01-01T00:00:00Z', {}],
    ...things.position.slice(1).map((id) => ['/v1/events', { 'last-event-id': id }] as const),
    ...things.position.slice(1).map((id) => [`/v1/events?after=${id}`, {}] as const),
  ] as const
  const about = [
    `/v1/stream?taskId=${theirTask}`,
    `/v1/events?after=2020-01-01T00:00:00Z&taskId=${theirTask}`,
  ]
  const streams = await Promise.all([
    ...addresses.map(([path, headers]) => follow(app, path, { ...ours, ...headers })),
    ...about.map((path) => follow(app, path, ours)),
  ])
  const general = streams.slice(0, addresses.length)

  const theirRun = await end(theirTask, theirs)
  const ourRun = await end(ourTask, ours)
  await eventually(async () => general.every((stream) => stream.text.includes(ourRun)))

  for (const { text } of streams) {
    expect(text).toContain('event: hello')
    // The first event repeats the position that was asked for.
    const carried = text.replace(/^event: hello\nid: .*$/m, '')
    for (const id of [theirTask, theirRun, ...things.id]) expect(carried).not.toContain(id)
  }
  for (const { text } of streams.slice(addresses.length)) expect(text).not.toMatch(/event: (?!hello|gap)/)
  for (const stream of streams) stream.close()
})
