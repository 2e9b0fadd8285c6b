import { expect, test } from 'vitest'
import { createTestDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { startTestNode } from '../support/node.ts'
import { agendaOf, historyOf } from './rows.ts'

const database = await createTestDatabase()
const { db } = database
const { request } = await startTestNode(database)

const quick = { type: 'sleep', duration: '0s' }
const long = { type: 'sleep', duration: '1h' }
const manual = { type: 'manual' }
const create = async (fields: Record<string, unknown>) => (await request('POST', '/v1/tasks', fields)).body
const trigger = (id: string) => request('POST', `/v1/tasks/${id}/trigger`)
const ended = (runId: string) =>
  eventually(async () => {
    const { body } = await request('GET', `/v1/runs/${runId}`)
    return body.endedAt === null ? undefined : body
  })

test('a trigger is answered with the run it makes, which can be read at once', async () => {
  const task = await create({ action: quick, schedule: manual })

  const { status, headers, body } = await trigger(task.id)
  const location = headers.get('location') ?? ''

  expect(status).toBe(201)
  expect(body).toMatchObject({ taskId: task.id, kind: 'manual', state: 'pending', attempt: 0 })
  expect((await request('GET', location)).body.id).toBe(body.id)
  expect(await ended(body.id)).toMatchObject({ state: 'completed', kind: 'manual', attempt: 1 })
})

test('a trigger works while the task is paused, and leaves it paused', async () => {
  const task = await create({ action: quick, schedule: { type: 'every', interval: '1h' } })
  await request('POST', `/v1/tasks/${task.id}/pause`)

  const { body } = await trigger(task.id)

  expect(await ended(body.id)).toMatchObject({ state: 'completed' })
  expect((await request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({
    state: 'paused',
    nextFireAt: null,
  })
})

test('a trigger works when the task has finished, and leaves its schedule alone', async () => {
  const task = await create({ action: quick })
  await eventually(async () => (await request('GET', `/v1/tasks/${task.id}`)).body.state === 'finished')

  const { body } = await trigger(task.id)

  await ended(body.id)
  expect((await request('GET', `/v1/tasks/${task.id}`)).body).toMatchObject({
    state: 'finished',
    nextFireAt: null,
  })
})

test('with overlap skip an active run prevents the trigger and is named', async () => {
  const task = await create({ action: long, schedule: manual, overlap: 'skip' })
  const first = await trigger(task.id)

  const second = await trigger(task.id)

  expect(second.status).toBe(409)
  expect(second.body).toMatchObject({ code: 'run_active', runId: first.body.id })
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('with overlap skip one of many concurrent triggers is accepted', async () => {
  const task = await create({ action: long, schedule: manual, overlap: 'skip' })

  const answers = await Promise.all(Array.from({ length: 8 }, () => trigger(task.id)))

  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('with overlap allow any number of triggered runs are active together', async () => {
  const task = await create({ action: long, schedule: manual, overlap: 'allow' })

  const answers = await Promise.all(Array.from({ length: 5 }, () => trigger(task.id)))

  expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201))
  await eventually(
    async () => (await agendaOf(db, task.id)).filter((row) => row.state === 'running').length === 5,
  )
  await request('POST', `/v1/tasks/${task.id}/cancel`)
})

test('triggered runs are not counted against maxRuns', async () => {
  const task = await create({
    action: quick,
    schedule: { type: 'every', interval: '200ms' },
    maxRuns: 2,
    overlap: 'allow',
  })

  for (let i = 0; i < 3; i++) await ended((await trigger(task.id)).body.id)
  await eventually(async () => (await request('GET', `/v1/tasks/${task.id}`)).body.state === 'finished')

  const history = await historyOf(db, task.id)
  expect(history.filter(({ kind }) => kind === 'manual')).toHaveLength(3)
  expect(history.filter(({ kind, state }) => kind === 'occurrence' && state === 'completed')).toHaveLength(2)
})
