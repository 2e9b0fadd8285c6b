import { randomBytes } from 'node:crypto'
import { SignJWT, UnsecuredJWT } from 'jose'
import { expect, test } from 'vitest'
import { Refusal } from '../core/errors.ts'
import { KeyRing } from '../core/secret/key-ring.ts'
import { AddressSigner } from './address-signer.ts'

const [OLD, NEW, OTHER] = [randomBytes(32), randomBytes(32), randomBytes(32)]
const claims = { subject: 'file', projectId: 'project', fence: 3 }
let now = Date.parse('2026-11-16T09:00:00Z')
const inAMinute = () => now + 60_000

function signerWith(...keys: Buffer[]): AddressSigner {
  const ring = keys.length === 0 ? null : new KeyRing(keys)
  const requireRing = () => {
    if (ring === null) throw new Refusal('secrets_unavailable', 'no key')
    return ring
  }
  return new AddressSigner({ vault: { ring, requireRing }, clock: { now: () => now } })
}

test('a token signed by one node is accepted by another, with its claims', async () => {
  const token = await signerWith(NEW).sign('upload', claims, inAMinute())

  expect(await signerWith(NEW).verify('upload', token)).toMatchObject({ ok: true, claims })
})

test('a token is valid until it expires by the database clock', async () => {
  const signer = signerWith(NEW)
  const token = await signer.sign('upload', claims, inAMinute())

  now += 59_000
  const before = await signer.verify('upload', token)
  now += 2_000
  const after = await signer.verify('upload', token)

  expect([before.ok, after]).toEqual([true, { ok: false, reason: 'has expired' }])
})

test('a token signed for one purpose is not valid for another', async () => {
  const signer = signerWith(NEW)
  const token = await signer.sign('upload', claims, inAMinute())

  expect(await signer.verify('download', token)).toEqual({
    ok: false,
    reason: 'is not valid for this request',
  })
})

test('while keys are replaced, the first key signs and all of them verify', async () => {
  const old = await signerWith(OLD).sign('upload', claims, inAMinute())
  const both = signerWith(NEW, OLD)
  const fresh = await both.sign('upload', claims, inAMinute())

  expect((await both.verify('upload', old)).ok).toBe(true)
  expect((await signerWith(NEW).verify('upload', fresh)).ok).toBe(true)
  const unheld = { ok: false, reason: 'was signed with a key that this node does not hold' }
  expect(await signerWith(NEW).verify('upload', old)).toEqual(unheld)
  expect(await signerWith().verify('upload', fresh)).toEqual(unheld)
})

test('a node without keys refuses to sign', async () => {
  await expect(signerWith().sign('upload', claims, inAMinute())).rejects.toMatchObject({
    code: 'secrets_unavailable',
  })
})

test.each([
  ['nothing', async () => ''],
  ['no token', async () => 'a.b.c'],
  [
    'no signature',
    async () => new UnsecuredJWT(claims).setAudience('upload').setExpirationTime('1h').encode(),
  ],
  ['another key under the same name', () => forged(OTHER)],
  ['the secrets key itself', () => forged(NEW)],
  [
    'changed claims',
    async () => {
      const [head, , signature] = (await signerWith(NEW).sign('upload', claims, inAMinute())).split('.')
      const changed = { ...claims, subject: 'another', aud: 'upload', exp: inAMinute() }
      return `${head}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`
    },
  ],
])('%s is not accepted', async (_, tokenOf) => {
  expect((await signerWith(NEW).verify('upload', await tokenOf())).ok).toBe(false)
})

const forged = (key: Buffer) =>
  new SignJWT(claims)
    .setProtectedHeader({ alg: 'HS256', kid: new KeyRing([NEW]).first.fingerprint })
    .setAudience('upload')
    .setExpirationTime(Math.floor(inAMinute() / 1_000))
    .sign(new Uint8Array(key))
