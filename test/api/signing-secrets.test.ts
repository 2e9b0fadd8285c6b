import { expect, test } from 'vitest'
import { sql } from '../../src/store/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp, storedIn } from './test-app.ts'

const SECRET = /^whsec_[A-Za-z0-9+/]{43}=$/
const PATH = '/v1/signing-secrets'

async function aProject() {
  const { db } = await createTestDatabase()
  const { send } = await createTestApp({ db })
  return { db, send }
}

test('a secret is shown when it is made and never again', async () => {
  const { send } = await aProject()

  const { status, body, headers } = await send('POST', PATH)

  expect(status).toBe(201)
  expect(headers['cache-control']).toBe('no-store')
  expect(body).toEqual({
    id: expect.any(String),
    createdAt: expect.any(String),
    expiresAt: null,
    secret: expect.stringMatching(SECRET),
  })
  const { secret, ...shown } = body
  const list = await send('GET', PATH)
  expect(list).toMatchObject({ status: 200, body: { items: [shown] } })
  expect(list.text).not.toContain(secret)
})

test('a third secret is refused, also when many are made at once', async () => {
  const { send } = await aProject()

  const answers = await Promise.all(Array.from({ length: 8 }, () => send('POST', PATH)))

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409, 409, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'too_many_secrets',
    detail: expect.stringContaining('DELETE /v1/signing-secrets/{id}'),
  })
  expect((await send('GET', PATH)).body.items).toHaveLength(2)
})

test('rotating makes a new secret and dates the end of the old one', async () => {
  const { db, send } = await aProject()
  const { body: old } = await send('POST', PATH)

  const { status, body } = await send('POST', `${PATH}/rotate`, { keepOldFor: '1h' })

  const { items } = (await send('GET', PATH)).body
  expect(status).toBe(201)
  expect(body.secret).not.toBe(old.secret)
  expect(items).toMatchObject([
    { id: body.id, expiresAt: null },
    { id: old.id, expiresAt: expect.any(String) },
  ])
  expect(Date.parse(items[1].expiresAt) - Date.parse(body.createdAt)).toBe(3_600_000)
  expect((await send('POST', `${PATH}/rotate`)).status).toBe(409)
  await db.run(sql`update signing_secret set expires_at = now() where id = ${old.id}`)
  expect((await send('POST', `${PATH}/rotate`)).status).toBe(201)
})

test('two who rotate at once leave two secrets in use', async () => {
  const { send } = await aProject()
  await send('POST', PATH)

  const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', `${PATH}/rotate`)))

  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect((await send('GET', PATH)).body.items).toHaveLength(2)
})

test('rotating without keeping the old secret ends it at once', async () => {
  const { send } = await aProject()
  await send('POST', PATH)

  const { body } = await send('POST', `${PATH}/rotate`, { keepOldFor: '0s' })

  expect((await send('GET', PATH)).body.items).toMatchObject([{ id: body.id }])
})

test('a revoked secret is gone', async () => {
  const { db, send } = await aProject()
  const { body } = await send('POST', PATH)

  const answers = [await send('DELETE', `${PATH}/${body.id}`), await send('DELETE', `${PATH}/${body.id}`)]

  expect(answers.map(({ status }) => status)).toEqual([204, 404])
  expect(await db.run(sql`select from signing_secret`)).toEqual([])
})

test.each([
  ['a duration too long', 'POST', `${PATH}/rotate`, { keepOldFor: '31d' }, '/keepOldFor'],
  ['a number', 'POST', `${PATH}/rotate`, { keepOldFor: 5 }, '/keepOldFor'],
  ['a secret of one’s own', 'POST', PATH, { secret: 'whsec_abc' }, '/secret'],
  ['an id that is none', 'DELETE', `${PATH}/nonsense`, undefined, '{id}'],
] as const)('%s is refused and stores nothing', async (_, method, url, body, pointer) => {
  const { db, send } = await aProject()
  await send('POST', PATH)
  const before = await storedIn(db)

  const answer = await send(method, url, body)

  expect(answer.status).toBe(422)
  expect(answer.body.errors[0].pointer).toBe(pointer)
  expect(await storedIn(db)).toBe(before)
})
