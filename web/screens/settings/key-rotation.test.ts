import { expect, test } from 'vitest'
import { oldKeyWords, rotationCommand, rotationOf } from './key-rotation.ts'

const FOR_EVER = { expiresAt: null }

test('fields that are empty are left to the server', () => {
  const rotation = rotationOf({ overlap: ' ', expiresAt: '' })

  expect(rotation).toEqual({})
  expect(rotationCommand('01a1', rotation)).toBe('belfry key rotate 01a1')
})

test('an overlap and an expiry are part of the request and of the command', () => {
  const rotation = rotationOf({ overlap: ' 2h ', expiresAt: '2098-01-01T00:00:00.000Z' })

  expect(rotation).toEqual({ overlap: '2h', expiresAt: '2098-01-01T00:00:00.000Z' })
  expect(rotationCommand('01a1', rotation)).toBe(
    'belfry key rotate 01a1 --overlap 2h --expires-at 2098-01-01T00:00:00.000Z',
  )
})

test.each([
  ['', FOR_EVER, 'The old key stays valid for 1 d.'],
  ['36h', FOR_EVER, 'The old key stays valid for 1 d 12 h.'],
  [
    '7d',
    { expiresAt: '2098-01-01T00:00:00Z' },
    'The old key stays valid for 7 d, but not longer than before.',
  ],
  ['0s', FOR_EVER, 'The old key is refused within two seconds.'],
  ['soon', FOR_EVER, null],
])('an overlap of %j', (overlap, old, words) => {
  expect(oldKeyWords(overlap, old)?.replaceAll('\u00a0', ' ') ?? null).toBe(words)
})
