import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { hashOfKey, hintOf, isApiKey, makeApiKey } from './api-key.ts'

test('a key has a prefix, 40 random characters and a checksum', () => {
  const keys = Array.from({ length: 200 }, () => makeApiKey(randomBytes))

  for (const key of keys) expect(key).toMatch(/^bf_[0-9A-Za-z]{46}$/)
  expect(keys.every(isApiKey)).toBe(true)
  expect(new Set(keys).size).toBe(200)
})

test('random bytes that would make some characters more likely are discarded', () => {
  const bytes = (count: number) => Uint8Array.from({ length: count }, (_, i) => (i % 2 === 0 ? 255 : 61))

  expect(makeApiKey(bytes)).toMatch(/^bf_z{40}/)
})

test('a key with one changed character or another length is not an API key', () => {
  const key = makeApiKey(randomBytes)

  for (let at = 3; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x'
    expect(isApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false)
  }
  expect([key.slice(1), `${key}x`, `${key}\n`, '', 'bf_'].some(isApiKey)).toBe(false)
})

test('the hint shows the beginning, and the hash is that of the whole key', () => {
  const key = 'bf_abcdefghijklmnop'

  expect(hintOf(key)).toBe('bf_abcde')
  expect(Buffer.from(hashOfKey(key), 'base64')).toHaveLength(32)
  expect(hashOfKey(key)).not.toBe(hashOfKey(`${key}x`))
})
