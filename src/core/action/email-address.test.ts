import { expect, test } from 'vitest'
import { parseEmailAddress } from './email-address.ts'

test.each([
  ['ada@example.com', '', 'ada@example.com'],
  ['  ada@example.com ', '', 'ada@example.com'],
  ['Ada Lovelace <ada+x@mail.example.com>', 'Ada Lovelace', 'ada+x@mail.example.com'],
  ['<ada@example.com>', '', 'ada@example.com'],
  ["O'Brien & Söhne <o.brien@bücher.example>", "O'Brien & Söhne", 'o.brien@bücher.example'],
])('%s is an address', (text, name, address) => {
  expect(parseEmailAddress(text)).toEqual({ ok: true, value: { name, address } })
})

test.each([
  '',
  'ada',
  'ada@',
  '@example.com',
  'a@b@c',
  'a b@example.com',
  'a@example.com, b@example.com',
  'a@example.com;b@example.com',
  'A <a@example.com>, B <b@example.com>',
  'A <a@example.com',
  'a@example.com\r\nBcc: b@example.com',
  'A\nBcc: b <a@example.com>',
  'A\u2028 <a@example.com>',
  '"A\\"<x>" <a@example.com>',
  'a@.example.com',
  'a@example..com',
  `${'a'.repeat(65)}@example.com`,
  `a@${'b'.repeat(256)}`,
])('%j is not one address', (text) => {
  expect(parseEmailAddress(text)).toMatchObject({ ok: false })
})
