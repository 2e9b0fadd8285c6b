/** Requests that are refused for who sent them are in the audit log, and cannot fill the disk. */
import { expect, test } from 'vitest'
import { UNLIMITED } from '../../src/core/access/role.ts'
import { DEFAULT_PROJECT_ID } from '../../src/core/values/default-project.ts'
import { MAX_SENDERS, MAX_SINGLE, RefusedRequests } from '../../src/operations/audit-log/refused-requests.ts'
import { storeKey } from '../../src/operations/keys/keys.ts'
import { sql } from '../../src/store/database/sql.ts'
import { silentLogger } from '../../src/telemetry/logger.ts'
import { steadyClock } from '../support/clock.ts'
import { createTestDatabase } from '../support/database.ts'
import { createTestApp } from './test-app.ts'

const NO_OTHER_ADMINS = { areThere: false, canBeMembers: false }
const { db } = await createTestDatabase()
const { context, send, refusedRequests } = await createTestApp({ db })
const aKey = (role: 'admin' | 'viewer') =>
  storeKey(context, { name: role, role, projectId: null, createdBy: null, ...UNLIMITED }, NO_OTHER_ADMINS)
const [admin, viewer] = [await aKey('admin'), await aKey('viewer')]
const as = ({ key }: { key: string }) => ({ authorization: `Bearer ${key}` })
const entries = async (query: string) =>
  (await send('GET', `/v1/audit-log?limit=200&${query}`, undefined, as(admin))).body.items

test('failed authentications and refused permissions are recorded, with the actor if known', async () => {
  const wrong = await send('GET', '/v1/tasks', undefined, as({ key: 'bf_wrong' }))
  const refused = await send('POST', '/v1/tasks', {}, as(viewer))

  await refusedRequests.runOnce()

  expect(await entries('scope=installation&action=authentication.failed')).toMatchObject([
    {
      requestId: wrong.headers['x-request-id'],
      actor: { kind: 'anonymous' },
      address: '127.0.0.1',
      subject: { kind: 'route', id: 'GET /v1/tasks' },
      after: { code: 'unauthenticated' },
    },
  ])
  expect(await entries('action=permission.refused')).toMatchObject([
    {
      requestId: refused.headers['x-request-id'],
      actor: { kind: 'key', id: viewer.id, name: 'viewer' },
      subject: { id: 'POST /v1/tasks' },
      after: { code: 'forbidden' },
    },
  ])
})

test('many refusals of many senders become a few entries with counts', async () => {
  const log = new RefusedRequests({ db, clock: steadyClock(), log: silentLogger() })
  const note = (address: string) =>
    log.note({
      action: 'signin.failed',
      caller: { projectId: DEFAULT_PROJECT_ID, actor: { kind: 'anonymous', address } },
      route: 'POST /v1/sessions',
      code: 'unauthenticated',
    })

  for (let i = 0; i < 1_000; i++) note('10.0.0.1')
  for (let i = 0; i < 1_000; i++) note(`2001:db8::${i.toString(16)}`)
  for (let i = 0; i < 1_000; i++) note(`10.1.${i >> 8}.${i & 255}`)
  await log.stop()

  const of = await entries('scope=all&action=signin.failed')
  const counts: number[] = of.map(({ count }: { count: number }) => count)
  expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3_000)
  expect(counts.length).toBeLessThanOrEqual(MAX_SINGLE + MAX_SENDERS + 1)
  expect(of.filter(({ count }: { count: number }) => count > 800)).toHaveLength(3)
})

test('refusals are counted while the database is down and written later', async () => {
  let isDown = true
  const failing = {
    run: async <Row>(statement: Parameters<typeof db.run<Row>>[0]) => {
      if (isDown) throw new Error('the database is down')
      return db.run(statement)
    },
  }
  const log = new RefusedRequests({ db: failing, clock: steadyClock(), log: silentLogger() })
  const caller = { projectId: DEFAULT_PROJECT_ID, actor: { kind: 'anonymous', address: '10.0.0.9' } } as const
  const note = () => log.note({ action: 'permission.refused', caller, route: 'GET /down', code: 'forbidden' })

  for (let i = 0; i < 100; i++) note()
  await expect(log.runOnce()).rejects.toThrow('the database is down')
  isDown = false
  await log.stop()

  const [stored] = await db.run(sql<{ requests: number }>`
    select sum(count)::integer as requests from audit_entry where subject_id = 'GET /down'`)
  expect(stored?.requests).toBe(100)
})
