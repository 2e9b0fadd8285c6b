/** Who has uploaded a file to a signed address, as the audit log says. */
import { expect, test } from 'vitest'
import { DEFAULT_PROJECT_ID as projectId } from '../../src/core/values/default-project.ts'
import { UPLOAD } from '../../src/operations/files/addresses.ts'
import { createTestApp } from '../api/test-app.ts'
import { createTestDatabase } from '../support/database.ts'
import { someBytes } from './support.ts'

const { send, signIn, context } = await createTestApp(await createTestDatabase())
const { id, key } = (await send('POST', '/v1/keys', { name: 'deploy', role: 'admin' })).body
const asKey = { authorization: `Bearer ${key}` }
await send('POST', '/v1/members', { email: 'ada@example.com', role: 'editor' }, asKey)
const asAda = await signIn('ada@example.com')
const ada = (await send('GET', '/v1/people', undefined, asKey)).body.items[0]

const announce = async (headers: Record<string, string>) =>
  (await send('POST', '/v1/files', { name: 'program' }, headers)).body

/** Uploads to a path without any credential, and returns who the audit log names. */
async function uploaderOf(fileId: string, path: string) {
  expect((await send('PUT', path, someBytes(10))).status).toBe(200)
  const query = `action=file.upload&subject=${fileId}`
  const { body } = await send('GET', `/v1/audit-log?${query}`, undefined, asKey)
  return body.items.map(({ actor, address }: Record<string, unknown>) => ({ actor, address }))
}

const pathOf = (uploadUrl: string) => new URL(uploadUrl).pathname + new URL(uploadUrl).search

const ofKey = { actor: { kind: 'key', id, name: 'deploy' }, address: '127.0.0.1' }
const ofAda = { actor: { kind: 'person', id: ada.id, name: 'ada@example.com' }, address: '127.0.0.1' }
const ofNobody = {
  actor: { kind: 'anonymous', id: '127.0.0.1', name: null },
  address: '127.0.0.1',
}

test.each([
  ['a key', asKey, ofKey],
  ['a person', asAda, ofAda],
])('an upload to an address that was signed for %s is theirs', async (_, headers, uploader) => {
  const file = await announce(headers)

  expect(await uploaderOf(file.id, pathOf(file.uploadUrl))).toEqual([uploader])
})

test.each([
  ['a key', asKey, { keyId: id, isOpen: false }, ofKey],
  ['a person', asAda, { keyId: null, isOpen: false }, ofNobody],
])(
  'an address that was signed for %s without naming a person is accepted',
  async (_, headers, claims, uploader) => {
    const file = await announce(headers)
    const signed = { subject: file.id, projectId, ...claims }
    const token = await context.addresses.sign(UPLOAD, signed, Date.now() + 60_000)

    expect(await uploaderOf(file.id, `/v1/files/${file.id}/content?token=${token}`)).toEqual([uploader])
  },
)
