/** Projects cannot see one another: `npm run suite tenants` sends many more of these requests. */
import { expect, test } from 'vitest'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { digestOf, prepareTenants, randomFrom } from './tenants/random-requests.ts'

const { db } = await createTestDatabase()
const { compare, send, admin, ours, theirs } = await prepareTenants(db)

test('what belongs to another project is answered as if it did not exist, and is not changed', async () => {
  const before = await digestOf(db)
  const seed = Math.floor(Math.random() * 1_000_000)

  const differences = await compare(400, randomFrom(seed))

  expect(differences, `seed ${seed}`).toEqual([])
  expect(await digestOf(db)).toBe(before)
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
