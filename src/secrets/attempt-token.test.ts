import { expect, test } from 'vitest'
import type { TokenAttempt } from '../core/access/token-attempt.ts'
import { uuidv7 } from '../core/ids.ts'
import { KeyRing } from '../core/secret/key-ring.ts'
import { MINUTE_MS } from '../core/values/time-units.ts'
import { AddressSigner } from './address-signer.ts'
import { isAttemptToken, issueAttemptToken, verifyAttemptToken } from './attempt-token.ts'

const NOW = Date.parse('2026-11-18T09:00:00Z')

const signerAt = (now: number, ...keys: readonly string[]) => {
  const ring = new KeyRing(keys.map((key) => Buffer.alloc(32, key)))
  return new AddressSigner({ vault: { ring, requireRing: () => ring }, clock: { now: () => now } })
}

const anAttempt = (): TokenAttempt => ({
  projectId: uuidv7(),
  taskId: uuidv7(),
  runId: uuidv7(),
  attempt: 2,
  fence: 7,
  workerId: uuidv7(),
  hostId: uuidv7(),
  podName: 'host-1/4242',
  tracingId: 'order-17',
})

test('a token names the attempt that it was issued for, on every node with the key', async () => {
  const attempt = anAttempt()

  const token = await issueAttemptToken(signerAt(NOW, 'a'), attempt, NOW + MINUTE_MS)

  expect(isAttemptToken(token)).toBe(true)
  expect(await verifyAttemptToken(signerAt(NOW, 'b', 'a'), token)).toEqual({ ok: true, attempt })
})

test('a token expires', async () => {
  const token = await issueAttemptToken(signerAt(NOW, 'a'), anAttempt(), NOW + MINUTE_MS)

  const verified = await verifyAttemptToken(signerAt(NOW + 2 * MINUTE_MS, 'a'), token)

  expect(verified).toEqual({ ok: false, reason: 'has expired' })
})

test('a token of another key, for another purpose or with other claims is refused', async () => {
  const signer = signerAt(NOW, 'a')
  const attempt = anAttempt()
  const token = await issueAttemptToken(signer, attempt, NOW + MINUTE_MS)
  const claims = { subject: attempt.runId, projectId: attempt.projectId }
  const [head, , signature] = token.split('.')
  const body = Buffer.from(JSON.stringify({ ...attempt, fence: 8 })).toString('base64url')

  const refused = await Promise.all([
    verifyAttemptToken(signerAt(NOW, 'b'), token),
    verifyAttemptToken(signer, await signer.sign('file.download', claims, NOW + MINUTE_MS)),
    verifyAttemptToken(signer, await signer.sign('attempt', claims, NOW + MINUTE_MS)),
    verifyAttemptToken(signer, `${head}.${body}.${signature}`),
    verifyAttemptToken(signer, 'a.b.c'),
  ])

  expect(refused.map(({ ok }) => ok)).toEqual([false, false, false, false, false])
})
