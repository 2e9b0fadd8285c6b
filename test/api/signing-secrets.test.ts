import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { sql } from '../../src/store/database/sql.ts'
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
    origin: null,
    createdAt: expect.any(String),
    expiresAt: null,
    secret: expect.stringMatching(SECRET),
  })
  const { secret, ...shown } = body
  const list = await send('GET', PATH)
  expect(list).toMatchObject({ status: 200, body: { items: [shown] } })
  expect(list.text).not.toContain(secret)
})

test('a third secret is refused, also among concurrent requests', async () => {
  const { send } = await aProject()

  const answers = await Promise.all(Array.from({ length: 8 }, () => send('POST', PATH)))

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409, 409, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'too_many_secrets',
    detail: expect.stringMatching(/already in use: [0-9a-f-]{36} and [0-9a-f-]{36}\. Revoke one/),
  })
  expect((await send('GET', PATH)).body.items).toHaveLength(2)
})

test('a rotation creates a new secret and sets the expiry of the old one', async () => {
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

test('of several concurrent rotations one succeeds, and two secrets are in use', async () => {
  const { send } = await aProject()
  await send('POST', PATH)

  const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', `${PATH}/rotate`)))

  expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
  expect((await send('GET', PATH)).body.items).toHaveLength(2)
})

test('a rotation that does not keep the old secret ends it at once', async () => {
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

test('a secret for an origin is listed with the normalized origin', async () => {
  const { send } = await aProject()
  const { body: general } = await send('POST', PATH)
  const { body: bound, status } = await send('POST', PATH, { origin: 'HTTPS://Hooks.Example.com:443/' })

  const all = (await send('GET', PATH)).body.items
  const some = (await send('GET', `${PATH}?origin=https://HOOKS.example.com`)).body.items

  expect(status).toBe(201)
  expect(bound).toMatchObject({ origin: 'https://hooks.example.com', secret: expect.stringMatching(SECRET) })
  expect(all).toMatchObject([
    { id: general.id, origin: null },
    { id: bound.id, origin: bound.origin },
  ])
  expect(some).toMatchObject([{ id: bound.id }])
  expect((await send('GET', `${PATH}?origin=https://example.com`)).body.items).toEqual([])
})

test('an origin has at most two secrets, also with concurrent requests', async () => {
  const { send } = await aProject()
  const origin = 'https://a.example'
  await send('POST', PATH)
  await send('POST', PATH)
  await send('POST', PATH, { origin: 'https://b.example' })

  const answers = await Promise.all(Array.from({ length: 5 }, () => send('POST', PATH, { origin })))

  expect(answers.map(({ status }) => status).sort()).toEqual([201, 201, 409, 409, 409])
  expect(answers.find(({ status }) => status === 409)?.body).toMatchObject({
    code: 'too_many_secrets',
    detail: expect.stringContaining('2 signing secrets are already in use for https://a.example: '),
  })
})

test('rotating the secret of an origin leaves those of the project and of other origins unchanged', async () => {
  const { send } = await aProject()
  const origin = 'https://a.example'
  const { body: general } = await send('POST', PATH)
  const { body: other } = await send('POST', PATH, { origin: 'https://b.example' })
  const { body: old } = await send('POST', PATH, { origin })

  const { body: made } = await send('POST', `${PATH}/rotate`, { origin, keepOldFor: '1h' })

  expect((await send('GET', PATH)).body.items).toMatchObject([
    { id: general.id, origin: null, expiresAt: null },
    { id: made.id, origin, expiresAt: null },
    { id: old.id, origin, expiresAt: expect.any(String) },
    { id: other.id, expiresAt: null },
  ])
  await send('POST', `${PATH}/rotate`, { keepOldFor: '0s' })
  const kept = (await send('GET', PATH)).body.items.map(({ id }: { id: string }) => id)
  expect(kept).toEqual([expect.any(String), made.id, old.id, other.id])
})

test('at most a hundred origins of a project can have secrets', async () => {
  const { db, send } = await aProject()
  await db.run(sql`
    insert into endpoint_signing_secret (id, project_id, origin, secret)
    select gen_random_uuid(), ${DEFAULT_PROJECT_ID}, 'https://' || n || '.example', '\\x00' from generate_series(1, 100) n`)

  const another = await send('POST', PATH, { origin: 'https://101.example' })
  const rotated = await send('POST', `${PATH}/rotate`, { origin: 'https://100.example' })

  expect(another).toMatchObject({ status: 409, body: { code: 'too_many_secrets' } })
  expect(another.body.detail).toContain('100 origins')
  expect(rotated.status).toBe(201)
})

test('a node of release 0.1.0 does not find secrets that are bound to an origin', async () => {
  const { db, send } = await aProject()

  const { body } = await send('POST', PATH, { origin: 'https://a.example' })

  const found = await db.run(
    sql`select secret from signing_secret where expires_at is null or expires_at > now()`,
  )
  expect(found).toEqual([])
  expect((await send('DELETE', `${PATH}/${body.id}`)).status).toBe(204)
  expect((await send('GET', PATH)).body.items).toEqual([])
})

test.each([
  ['an origin with a path', 'POST', PATH, { origin: 'https://a.example/hook' }, '/origin'],
  ['an origin that is none', 'POST', `${PATH}/rotate`, { origin: 'a.example' }, '/origin'],
  ['a list by an origin that is none', 'GET', `${PATH}?origin=x`, undefined, '?origin'],
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
