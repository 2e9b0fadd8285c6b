/** What the API promises about a field it promises about every field: these tests walk the whole declaration. */
import { expect, test } from 'vitest'
import { defaultOf, FIELD_LIST } from '../../src/core/task/field-list.ts'
import { createTestDatabase } from '../support/database.ts'
import { SAMPLES } from '../support/field-samples.ts'
import { createTestApp } from './test-app.ts'

const { send } = await createTestApp(await createTestDatabase())

const NAMES = FIELD_LIST.map(({ name }) => name)
const action = { type: 'sleep', duration: '1s' }
const schedule = { type: 'every', interval: '1h' }

const fieldsOf = (body: Record<string, unknown>) =>
  Object.fromEntries(NAMES.map((name) => [name, body[name]]))

/** The fields of a task whose request contains only a key, an action and a schedule. */
const plain = (key: string) => ({
  ...Object.fromEntries(FIELD_LIST.map((field) => [field.name, defaultOf(field)])),
  key,
  action,
  schedule,
})

test('PUT by key replaces every field and resets omitted fields to their defaults', async () => {
  const full = await send('PUT', '/v1/tasks/by-key/sample', SAMPLES)

  const replaced = await send('PUT', '/v1/tasks/by-key/sample', { action, schedule })

  expect(full.status).toBe(201)
  expect(fieldsOf(full.body)).toEqual(SAMPLES)
  expect(replaced.status).toBe(200)
  expect(fieldsOf(replaced.body)).toEqual(plain('sample'))
})

test('PUT by key takes every field as it is given', async () => {
  await send('PUT', '/v1/tasks/by-key/taken', { action, schedule })

  const replaced = await send('PUT', '/v1/tasks/by-key/taken', { ...SAMPLES, key: 'taken' })

  expect(replaced.status).toBe(200)
  expect(fieldsOf(replaced.body)).toEqual({ ...SAMPLES, key: 'taken' })
})

test.each(NAMES)('PATCH of %s changes only this field, and the version lists the change', async (name) => {
  const { body: task } = await send('POST', '/v1/tasks', { action, schedule, key: `before-${name}` })
  const value = name === 'key' ? `after-${name}` : SAMPLES[name]

  const edited = await send('PATCH', `/v1/tasks/${task.id}`, { [name]: value })
  const { body: version } = await send('GET', `/v1/tasks/${task.id}/versions/2`)

  expect(edited.status).toBe(200)
  expect(fieldsOf(edited.body)).toEqual({ ...plain(`before-${name}`), [name]: value })
  expect(version.definition).toEqual(fieldsOf(edited.body))
  const changed = version.changes.map(({ field }: { field: string }) => field.split('.')[0])
  expect([...new Set(changed)]).toEqual([name])
})

test('a rollback brings every field back', async () => {
  const { body: task } = await send('POST', '/v1/tasks', { ...SAMPLES, key: 'back' })
  await send('PUT', '/v1/tasks/by-key/back', { action, schedule })

  const { status, body } = await send('POST', `/v1/tasks/${task.id}/rollback`, { version: 1 })

  expect(status).toBe(200)
  expect(fieldsOf(body)).toEqual({ ...SAMPLES, key: 'back' })
})

test('the OpenAPI document describes every field of a task, in requests and responses', async () => {
  const { body: document } = await send('GET', '/openapi.json')
  const { CreateTaskInput, EditTaskInput, Task } = document.components.schemas

  expect(Object.keys(CreateTaskInput.properties)).toEqual([...NAMES, 'paused'])
  expect(Object.keys(EditTaskInput.properties)).toEqual([...NAMES, 'reason'])
  expect(Object.keys(Task.properties)).toEqual(expect.arrayContaining(NAMES))
})
