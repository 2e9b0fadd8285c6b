/** Projects: what belongs to whom, and what becomes of one that is archived. */
import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { request, startTestNode } from '../support/node.ts'

const database = await createTestDatabase()
const node = await startTestNode(database)

const within = (project: string) => ({
  ask: (method: string, path: string, body?: unknown) =>
    request(node.url, method, path, body, { 'belfry-project': project }),
})
const create = (name: string, fields = {}) => node.request('POST', '/v1/projects', { name, ...fields })
const sleep = { action: { type: 'sleep', duration: '0s' } }

test('projects are created, listed by name, shown and edited', async () => {
  const shop = await create('shop', { limits: { minPeriod: '1s' } })
  await create('blog')

  const again = await create('shop')
  const listed = await node.request('GET', '/v1/projects?limit=2')
  const rest = await node.request('GET', `/v1/projects?cursor=${listed.body.nextCursor}`)
  const found = await node.request('GET', '/v1/projects?q=ho')
  const edited = await node.request('PATCH', '/v1/projects/shop', { mail: { from: 'shop@example.com' } })
  const refused = await within('shop').ask('POST', '/v1/tasks', {
    ...sleep,
    schedule: { type: 'every', interval: '100ms' },
  })

  expect(shop).toMatchObject({
    status: 201,
    body: { name: 'shop', limits: { minPeriod: '1s' }, archivedAt: null },
  })
  expect(again).toMatchObject({ status: 409, body: { code: 'name_in_use' } })
  const namesOf = ({ body }: typeof listed) => body.items.map(({ name }: { name: string }) => name)
  expect([namesOf(listed), namesOf(rest), namesOf(found)]).toEqual([['blog', 'default'], ['shop'], ['shop']])
  expect(edited.body).toMatchObject({ limits: { minPeriod: '1s' }, mail: { from: 'shop@example.com' } })
  expect(refused).toMatchObject({ status: 422, body: { code: 'beyond_limits' } })
})

test.each(['', 'Shop', '-shop', 'shop-', 'web shop', 'a'.repeat(64), 'shöp', '../x'])(
  'a project cannot be called %j',
  async (name) => {
    const refused = await create(name)

    expect(refused).toMatchObject({ status: 422, body: { errors: [{ pointer: '/name' }] } })
  },
)

test('a task, key or queue of one project does not exist in another', async () => {
  await create('one')
  await create('two')
  const { body: task } = await within('one').ask('POST', '/v1/tasks', { ...sleep, key: 'k', queue: 'q1' })

  const own = await within('one').ask('GET', `/v1/tasks/${task.id}`)
  const foreign = await within('two').ask('GET', `/v1/tasks/${task.id}`)
  const sameKey = await within('two').ask('POST', '/v1/tasks', { ...sleep, key: 'k' })
  const queues = await within('two').ask('GET', '/v1/queues?q=q1')
  const nowhere = await within('three').ask('GET', '/v1/tasks')

  expect(own.status).toBe(200)
  expect(foreign).toMatchObject({ status: 404, body: { detail: `Task ${task.id} does not exist.` } })
  expect(sameKey.status).toBe(201)
  expect(queues.body.items).toEqual([])
  expect(nowhere).toMatchObject({ status: 404, body: { detail: 'Project three does not exist.' } })
})

test('an archived project runs nothing and is read-only until it is restored', async () => {
  await create('old')
  const old = within('old')
  const every = { type: 'every', interval: '200ms' }
  const { body: busy } = await old.ask('POST', '/v1/tasks', { ...sleep, schedule: every })
  const { body: paused } = await old.ask('POST', '/v1/tasks', { ...sleep, schedule: every })
  await old.ask('POST', `/v1/tasks/${paused.id}/pause`, {
    until: new Date(Date.now() + 1_500).toISOString(),
  })
  const { body: long } = await old.ask('POST', '/v1/tasks', { action: { type: 'sleep', duration: '1h' } })
  const stateOf = async ({ id }: { id: string }) => (await old.ask('GET', `/v1/tasks/${id}`)).body.state
  await eventually(async () => (await stateOf(long)) === 'running')

  const archived = await node.request('DELETE', '/v1/projects/old')
  // Neither a run nor the end of the pause is left. What began before the archiving is found by a later pass over the tasks.
  const liveRows = async () => {
    const [live] = await database.db.run<{ count: number }>({
      text: `select count(*) as count from agenda a join project p on p.id = a.project_id where p.name = 'old'`,
      values: [],
    })
    return live?.count
  }
  await eventually(async () => (await liveRows()) === 0)
  const refused = await old.ask('POST', '/v1/tasks', sleep)
  const triggered = await old.ask('POST', `/v1/tasks/${busy.id}/trigger`)
  const live = await liveRows()
  const current = await node.request('GET', '/v1/projects')
  const before = await old.ask('GET', `/v1/tasks/${busy.id}`)
  const kept = await old.ask('GET', `/v1/tasks/${paused.id}`)

  const restored = await node.request('POST', '/v1/projects/old/restore')
  await eventually(async () => (await stateOf(busy)) !== 'paused' && (await stateOf(paused)) !== 'paused')
  const created = await old.ask('POST', '/v1/tasks', sleep)

  expect(archived.body.archivedAt).not.toBeNull()
  expect([refused, triggered]).toMatchObject(
    Array(2).fill({
      status: 409,
      body: { code: 'project_archived', detail: 'Project old is archived and can only be read.' },
    }),
  )
  expect(live).toBe(0)
  expect(current.body.items.map(({ name }: { name: string }) => name)).not.toContain('old')
  expect(before.body).toMatchObject({ state: 'paused', pauseReason: 'The project is archived.' })
  // The pause that was to end by itself does not.
  expect(kept.body).toMatchObject({ state: 'paused', resumeAt: null })
  expect(restored.body.archivedAt).toBeNull()
  expect(created.status).toBe(201)
})

test('archiving a project cancels its backfills, even between two of their runs', async () => {
  await create('slow')
  const slow = within('slow')
  const schedule = { type: 'cron', expression: '* * * * *', timezone: 'UTC' }
  const { body: task } = await slow.ask('POST', '/v1/tasks', { ...sleep, schedule })
  await slow.ask('POST', `/v1/tasks/${task.id}/pause`)
  const hoursAgo = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()
  const { body } = await slow.ask('POST', `/v1/tasks/${task.id}/backfill`, {
    ...{ from: hoursAgo(2), to: hoursAgo(1), rate: '1/h' },
  })
  const backfill = async () => (await slow.ask('GET', `/v1/backfills/${body.id}`)).body
  await eventually(async () => (await backfill()).completed === 1)

  await node.request('DELETE', '/v1/projects/slow')

  await eventually(async () => (await backfill()).state === 'cancelled')
  expect(await backfill()).toMatchObject({ started: 1, remaining: 0 })
})

test('a task that cannot be changed does not keep its archived project from pausing the others', async () => {
  await create('stuck')
  const stuck = within('stuck')
  const every = { type: 'every', interval: '1h' }
  const make = async () => (await stuck.ask('POST', '/v1/tasks', { ...sleep, schedule: every })).body.id
  const [bad, good] = [await make(), await make()]
  const run = <T extends object>(text: string) => database.db.run<T>({ text, values: [] })
  await run('create sequence refusals')
  await run(`create function refuse() returns trigger language plpgsql as
    $$ begin perform nextval('refusals'); raise 'no such change'; end $$`)
  await run(
    `create trigger refuse before update on task for each row when (old.id = '${bad}') execute function refuse()`,
  )
  const refusals = async () =>
    Number((await run<{ n: string }>('select last_value as n from refusals'))[0]?.n)
  const stateOf = async (id: string) => (await stuck.ask('GET', `/v1/tasks/${id}`)).body.state

  await node.request('DELETE', '/v1/projects/stuck')
  await eventually(async () => (await stateOf(good)) === 'paused')
  // It is tried again also when requests from before the archiving cannot be the reason any more.
  await run(`update project set archived_at = now() - interval '1 hour' where name = 'stuck'`)
  const tried = await refusals()
  await eventually(async () => (await refusals()) > tried + 2)
  const before = await stateOf(bad)
  await run('drop trigger refuse on task')
  await eventually(async () => (await stateOf(bad)) === 'paused')
  await eventually(async () => {
    const [row] = await run<{ sweep: string | null }>(`select sweep from project where name = 'stuck'`)
    return row?.sweep === null
  })

  expect(before).toBe('scheduled')
})

test('the default project cannot be archived', async () => {
  const refused = await node.request('DELETE', '/v1/projects/default')

  expect(refused).toMatchObject({ status: 409, body: { code: 'default_project' } })
})
