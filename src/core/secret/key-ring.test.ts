import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { KeyRing, newKey, parseKeyRing } from './key-ring.ts'

const ringOf = (...texts: string[]) => {
  const read = parseKeyRing(texts.join('\n'))
  if (!read.ok) throw new Error(read.reason)
  return read.ring
}

test('what one key encrypts, every ring that holds the key decrypts', () => {
  const [before, after] = [newKey(), newKey()]
  const sealed = ringOf(before).seal(Buffer.from('value'), ['secret', 'p', 'n', 1])

  expect(ringOf(after, before).open(sealed, ['secret', 'p', 'n', 1])).toEqual({
    ok: true,
    value: Buffer.from('value'),
  })
  expect(ringOf(after).open(sealed, ['secret', 'p', 'n', 1])).toEqual({ ok: false, reason: 'unknown_key' })
  expect(ringOf(after, before).seal(Buffer.from('value'), ['x']).keyId).toBe(ringOf(after).first.fingerprint)
})

test('a value is decrypted only unchanged and under the identity it was stored with', () => {
  const ring = new KeyRing([randomBytes(32)])
  const sealed = ring.seal(Buffer.from('value'), ['secret', 'p', 'n', 1])
  const changed = { ...sealed, sealed: Buffer.from(sealed.sealed) }
  changed.sealed[30] = (changed.sealed[30] as number) ^ 1

  expect(sealed.sealed.includes('value')).toBe(false)
  expect(ring.seal(Buffer.from('value'), ['secret', 'p', 'n', 1]).sealed).not.toEqual(sealed.sealed)
  for (const binding of [
    ['secret', 'p', 'n', 2],
    ['secret', 'p', 'm', 1],
    ['secret', 'q', 'n', 1],
    ['signing', 'p', 'n', 1],
  ])
    expect(ring.open(sealed, binding)).toEqual({ ok: false, reason: 'damaged' })
  expect(ring.open(changed, ['secret', 'p', 'n', 1])).toEqual({ ok: false, reason: 'damaged' })
  expect(ring.open({ ...sealed, sealed: Buffer.alloc(3) }, ['x'])).toEqual({ ok: false, reason: 'damaged' })
})

test('keys are read in base64 and hexadecimal, with comments', () => {
  const [a, b] = [randomBytes(32), randomBytes(32)]
  const text = `# made in May\n${a.toString('base64')}, ${b.toString('hex')}\n`

  expect(ringOf(text).keys.map(({ bytes }) => bytes)).toEqual([a, b])
  expect(ringOf(a.toString('base64url')).first.fingerprint).toBe(ringOf(a.toString('hex')).first.fingerprint)
})

test.each(['', '# nothing', 'short', randomBytes(31).toString('base64'), `${newKey()} password`])(
  'an invalid key is refused without being revealed: %#',
  (text) => {
    const read = parseKeyRing(text)
    expect(read).toMatchObject({ ok: false, reason: expect.stringContaining('openssl rand -base64 32') })
    expect(JSON.stringify(read)).not.toContain('password')
  },
)
