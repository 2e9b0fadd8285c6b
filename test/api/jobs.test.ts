/** The four calls on jobs, replayed: submit_job, retrieve_all_jobs, delete_job, get_exec_history. */
import { expect, test } from 'vitest'
import { JOB_LIST_LIMIT } from '../../src/api/compatible/jobs-routes.ts'
import { EXECUTION_STATUSES } from '../../src/api/compatible/jobs-schemas.ts'
import { RUN_STATES } from '../../src/core/run/run.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { startSink } from '../support/sink.ts'
import { createTestApp, storedIn } from './test-app.ts'

const { db } = await createTestDatabase()
const { send } = await createTestApp({ db })

const UUID = expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/)
const INSTANT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const code_location = 'https://example.com/job'

test('submit_job(user_id, schedule, code_location)', async () => {
  const { status, body } = await send('POST', '/submit_job', {
    user_id: 'ada',
    schedule: '*/5 * * * *',
    code_location,
  })

  expect(status).toBe(200)
  expect(body).toEqual({
    user_id: 'ada',
    job_id: UUID,
    schedule: '*/5 * * * *',
    code_location,
    next_execution: INSTANT,
  })
  expect(new Date(body.next_execution).getUTCMinutes() % 5).toBe(0)
  expect((await send('GET', `/v1/tasks/${body.job_id}`)).body).toMatchObject({
    owner: 'ada',
    action: { type: 'ping', url: code_location },
    schedule: { type: 'cron', expression: '*/5 * * * *', timezone: 'UTC' },
  })
})

test.each([
  ['2099-01-02T03:04:05Z', { type: 'once', at: '2099-01-02T03:04:05Z' }],
  ['1m', { type: 'every', interval: '1m' }],
  ['30d', { type: 'every', interval: '30d' }],
  ['@daily', { type: 'cron', expression: '@daily', timezone: 'UTC' }],
])('a schedule may be %s', async (schedule, meant) => {
  const { body } = await send('POST', '/submit_job', { user_id: 'bob', schedule, code_location })

  expect(body).toMatchObject({ schedule, next_execution: INSTANT })
  expect((await send('GET', `/v1/tasks/${body.job_id}`)).body.schedule).toMatchObject(meant)
})

test('a code_location may be a file, which the job runs once it has arrived', async () => {
  const { body: file } = await send('POST', '/v1/files', { name: 'job.sh' })
  const job = { user_id: 'erin', schedule: '1h', code_location: file.id }

  const { status, body } = await send('POST', '/submit_job', job)
  const unknown = await send('POST', '/submit_job', { ...job, code_location: body.job_id })

  expect({ status, body }).toMatchObject({ status: 200, body: job })
  expect((await send('GET', `/v1/tasks/${body.job_id}`)).body).toMatchObject({
    action: { type: 'exec', file: file.id },
    owner: 'erin',
  })
  expect((await send('POST', '/retrieve_all_jobs', { user_id: 'erin' })).body).toMatchObject([job])
  expect(unknown).toMatchObject({ status: 422, body: { errors: [{ pointer: '/code_location' }] } })
})

test('retrieve_all_jobs(user_id)', async () => {
  const jobs = []
  for (const schedule of ['1h', '2h', '3h'])
    jobs.push((await send('POST', '/submit_job', { user_id: 'carol', schedule, code_location })).body)
  await send('POST', '/submit_job', { user_id: 'not carol', schedule: '1h', code_location })

  const { status, body } = await send('POST', '/retrieve_all_jobs', { user_id: 'carol' })

  expect(status).toBe(200)
  expect(body).toEqual(jobs.reverse())
  expect(await send('POST', '/retrieve_all_jobs', { user_id: 'nobody' })).toMatchObject({
    status: 200,
    body: [],
  })
})

const nextOf = (headers: Record<string, unknown>) =>
  /^<(.+)>; rel="next"$/.exec(String(headers['link']))?.[1] ?? ''

test('retrieve_all_jobs answers any number of jobs, page by page', async () => {
  const { body: made } = await send('POST', '/v1/tasks/bulk', {
    tasks: Array.from({ length: JOB_LIST_LIMIT + 2 }, () => ({
      owner: 'many',
      action: { type: 'ping', url: code_location },
      schedule: { type: 'every', interval: '1h' },
    })),
  })
  const ids = made.items.map(({ id }: { id: string }) => id).toReversed()

  const first = await send('POST', '/retrieve_all_jobs', { user_id: 'many' })
  const second = await send('POST', nextOf(first.headers), { user_id: 'many' })

  expect(first.body).toHaveLength(JOB_LIST_LIMIT)
  expect([...first.body, ...second.body].map(({ job_id }) => job_id)).toEqual(ids)
  expect(second.headers['link']).toBeUndefined()
})

test('get_exec_history answers any number of executions, page by page', async () => {
  const { body: job } = await send('POST', '/submit_job', { user_id: 'long', schedule: '1h', code_location })
  await db.run(sql`
    insert into run (run_id, task_id, project_id, scheduled_for, ended_at, version, ordinal, fence, attempt, losses, kind, state)
    select gen_random_uuid(), ${job.job_id}::uuid, ${DEFAULT_PROJECT_ID}::uuid, date_trunc('second', now()), now(), 1, n, 1, 1, 0, 'occurrence', 'completed'
    from generate_series(1, ${JOB_LIST_LIMIT + 2}::integer) as n`)

  const first = await send('POST', '/get_exec_history', { job_id: job.job_id })
  const second = await send('POST', nextOf(first.headers), { job_id: job.job_id })

  expect(first.body).toHaveLength(JOB_LIST_LIMIT)
  const ids = [...first.body, ...second.body].map(({ execution_id }) => execution_id)
  expect(new Set(ids).size).toBe(JOB_LIST_LIMIT + 2)
  expect(second.headers['link']).toBeUndefined()
})

test.each(['/retrieve_all_jobs', '/get_exec_history'])('a made-up cursor of %s is refused', async (url) => {
  const { body: job } = await send('POST', '/submit_job', { user_id: 'odd', schedule: '1h', code_location })
  const input = url === '/get_exec_history' ? { job_id: job.job_id } : { user_id: 'odd' }

  expect(await send('POST', `${url}?cursor=nonsense`, input)).toMatchObject({
    status: 422,
    body: { errors: [{ pointer: '?cursor' }] },
  })
})

test('delete_job(user_id, job_id)', async () => {
  const { body: job } = await send('POST', '/submit_job', { user_id: 'dora', schedule: '1h', code_location })
  const { job_id } = job

  const others = await send('POST', '/delete_job', { user_id: 'eve', job_id })
  const first = await send('POST', '/delete_job', { user_id: 'dora', job_id })
  const second = await send('POST', '/delete_job', { user_id: 'dora', job_id })

  expect(others).toMatchObject({ status: 404, body: { code: 'not_found' } })
  expect(first).toMatchObject({ status: 200, body: { user_id: 'dora', job_id } })
  expect(second.status).toBe(404)
  expect((await send('POST', '/retrieve_all_jobs', { user_id: 'dora' })).body).toEqual([])
})

test('get_exec_history(job_id)', async () => {
  const database = await createTestDatabase()
  const { request } = await startTestNode(database)
  const sink = await startSink((_, count) => ({ status: count === 2 ? 404 : 200 }))
  const { body: job } = await request('POST', '/submit_job', {
    user_id: 'ada',
    schedule: '1h',
    code_location: sink.url,
  })
  const { job_id } = job
  const history = async () => (await request('POST', '/get_exec_history', { job_id })).body

  for (const count of [1, 2, 3]) {
    await request('POST', `/v1/tasks/${job_id}/trigger`)
    await eventually(async () => {
      const executions = await history()
      return executions.length === count && executions[0].ended_at !== null
    })
  }

  const whole = { job_id, execution_id: UUID, scheduled_for: INSTANT, started_at: INSTANT, ended_at: INSTANT }
  const executions = await history()
  expect(executions).toEqual(['COMPLETED', 'FAILED', 'COMPLETED'].map((status) => ({ ...whole, status })))
  const due = executions.map(({ scheduled_for }: { scheduled_for: string }) => scheduled_for)
  expect(due).toEqual([...due].sort().reverse())
})

test('every state of a run is a status', () => {
  expect(EXECUTION_STATUSES).toHaveLength(RUN_STATES.length)
})

test.each<[string, string, unknown, string]>([
  ['no user', '/submit_job', { schedule: '1h', code_location }, '/user_id'],
  ['an empty user', '/submit_job', { user_id: '', schedule: '1h', code_location }, '/user_id'],
  ['a schedule in words', '/submit_job', { user_id: 'a', schedule: 'sometimes', code_location }, '/schedule'],
  [
    'a schedule that never comes',
    '/submit_job',
    { user_id: 'a', schedule: '0 0 30 2 *', code_location },
    '/schedule',
  ],
  [
    'an instant long past',
    '/submit_job',
    { user_id: 'a', schedule: '2020-01-01T00:00:00Z', code_location },
    '/schedule',
  ],
  [
    'a location that is no URL',
    '/submit_job',
    { user_id: 'a', schedule: '1h', code_location: 'x.py' },
    '/code_location',
  ],
  ['a file', '/submit_job', { user_id: 'a', schedule: '1h', code_location: 'file:///x' }, '/code_location'],
  ['an unknown field', '/submit_job', { user_id: 'a', schedule: '1h', code_location, x: 1 }, '/x'],
  ['a user that is a number', '/retrieve_all_jobs', { user_id: 7 }, '/user_id'],
  ['a job that is no id', '/delete_job', { user_id: 'a', job_id: '7' }, '/job_id'],
  ['no job', '/get_exec_history', {}, '/job_id'],
])('%s is refused, with the name of the field, and stores nothing', async (_, url, payload, pointer) => {
  const before = await storedIn(db)

  const { status, body } = await send('POST', url, payload)

  expect({ status, pointer: body.errors[0].pointer }).toEqual({ status: 422, pointer })
  expect(body.detail).toContain(pointer)
  expect(await storedIn(db)).toBe(before)
})

test('the error for an invalid schedule lists the valid forms', async () => {
  const answer = await send('POST', '/submit_job', {
    user_id: 'a',
    schedule: 'every now and then',
    code_location,
  })

  expect(answer.body.detail).toContain(
    'a cron expression such as */5 * * * *, an interval such as 1h, or an instant',
  )
})

test('a job that is not there has no history', async () => {
  const answer = await send('POST', '/get_exec_history', { job_id: '01900000-0000-7000-8000-000000000000' })

  expect(answer).toMatchObject({
    status: 404,
    body: { code: 'not_found', detail: expect.stringContaining('Job 01900000') },
  })
})
