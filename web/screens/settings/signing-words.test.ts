import { expect, test } from 'vitest'
import { afterRevoking } from './signing-words.ts'

const secret = (id: string, origin: string | null) => ({
  id,
  origin,
  createdAt: '2026-11-16T03:10:00.000Z',
  expiresAt: null,
})
const project = secret('1', null)
const bound = secret('2', 'https://hooks.example.com')

test('revoking a secret shows whether requests are then signed, and with which secrets', () => {
  const other = { ...bound, id: '3' }

  expect(afterRevoking(bound, [project, bound, other])).toBe(
    'requests to https://hooks.example.com are signed with the other secret only.',
  )
  expect(afterRevoking(bound, [project, bound])).toBe(
    'requests to https://hooks.example.com will be signed with the secrets of the project.',
  )
  expect(afterRevoking(bound, [bound])).toBe('requests to https://hooks.example.com are no longer signed.')
  expect(afterRevoking(project, [project, bound])).toBe(
    'requests to all origins without their own secrets are no longer signed.',
  )
})
