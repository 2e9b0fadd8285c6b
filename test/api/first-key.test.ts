/** The first key must be able to create others: it closes the server. */
import { beforeEach, expect, test } from 'vitest'
import { UNLIMITED } from '../../src/core/access/role.ts'
import { storeKey } from '../../src/operations/keys/keys.ts'
import { sql } from '../../src/store/database/sql.ts'
import { createTestDatabase } from '../support/database.ts'
import { startTestNode } from '../support/node.ts'
import { createTestApp } from './test-app.ts'

const database = await createTestDatabase()
const { db } = database
const { context, send } = await createTestApp(database)
const project = (await send('GET', '/v1/projects/default')).body.id
const NOBODY = { areThere: false, canBeMembers: false }

type Wanted = Parameters<typeof storeKey>[1]
const aKey = (wanted: Partial<Wanted>, others = NOBODY) =>
  storeKey(
    context,
    { name: 'test', role: 'admin', projectId: null, createdBy: null, ...UNLIMITED, ...wanted },
    others,
  )
const OTHERS: readonly (readonly [string, Partial<Wanted>])[] = [
  ['a viewer', { role: 'viewer' }],
  ['a worker', { role: 'worker' }],
  ['an admin of a project', { projectId: project }],
  ['an admin limited to queues', { queues: ['mail'] }],
]
const PUBLIC = { roles: 'api', publicUrl: 'https://belfry.example.com' }
const starts = () =>
  startTestNode(database, PUBLIC).then(
    async (node) => {
      await node.stop()
      return true
    },
    ({ name }: Error) => name,
  )

beforeEach(async () => {
  await db.run(sql`delete from api_key`)
  await db.run(sql`delete from member`)
})

test.each(OTHERS)('%s is refused as the first key, and the server stays open', async (_, wanted) => {
  const { projectId, ...fields } = wanted
  const body = { name: 'test', role: 'admin', ...fields, ...(projectId ? { project: 'default' } : {}) }

  const refused = await send('POST', '/v1/keys', body)

  expect(refused).toMatchObject({ status: 409, body: { code: 'no_admin_key' } })
  expect(refused.body.detail).toContain('belfry key create --role admin')
  expect((await send('GET', '/v1/server')).body).toMatchObject({ isOpen: true })
  expect(await db.run(sql`select id from api_key`)).toEqual([])
})

test('of keys that are created at once, none is stored before an admin', async () => {
  const wishes = OTHERS.flatMap(([, wanted]) => [wanted, wanted])

  const alone = await Promise.allSettled(wishes.map((wanted) => aKey(wanted)))
  const together = await Promise.allSettled([...wishes, {}, ...wishes].map((wanted) => aKey(wanted)))

  expect(alone.map(({ status }) => status)).toEqual(wishes.map(() => 'rejected'))
  expect(together[wishes.length]?.status).toBe('fulfilled')
  for (const { status, reason } of together as { status: string; reason?: { code: string } }[])
    if (status === 'rejected') expect(reason?.code).toBe('no_admin_key')
  expect(await Promise.all(OTHERS.map(([, wanted]) => aKey(wanted)))).toHaveLength(OTHERS.length)
})

test('another key is accepted first where BELFRY_ADMIN_KEY or a member can administer', async () => {
  const isMember = { areThere: false, canBeMembers: true }
  const refused = await aKey({ role: 'worker' }, isMember).catch(({ code }) => code)
  await db.run(
    sql`insert into member (id, kind, who, role) values (gen_random_uuid(), 'email', 'a@example.com', 'admin')`,
  )

  expect(refused).toBe('no_admin_key')
  expect(await aKey({ role: 'worker' }, isMember)).toMatchObject({ id: expect.any(String) })
  expect(await aKey({ role: 'worker' }).catch(({ code }) => code)).toBe('no_admin_key')
  expect(await aKey({ role: 'worker' }, { areThere: true, canBeMembers: false })).toHaveProperty('key')
})

test('a server that others can reach starts only with a valid key of an admin of the installation', async () => {
  const none = await starts()
  const admin = await aKey({})
  for (const [, wanted] of OTHERS) await aKey(wanted)
  const living = await starts()
  await db.run(sql`update api_key set expires_at = now() - interval '1 second' where id = ${admin.id}`)
  const expired = await starts()
  await db.run(sql`update api_key set expires_at = null, revoked_at = now() where id = ${admin.id}`)
  const revoked = await starts()

  expect({ none, living, expired, revoked }).toEqual({
    none: 'OpenHostError',
    living: true,
    expired: 'OpenHostError',
    revoked: 'OpenHostError',
  })
})
