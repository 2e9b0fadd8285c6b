import { expect, test } from 'vitest'
import { parseOrigin } from './origin.ts'

test.each([
  ['https://example.com', 'https://example.com'],
  ['https://example.com/', 'https://example.com'],
  ['HTTPS://Hooks.Example.COM:443', 'https://hooks.example.com'],
  ['http://example.com:80', 'http://example.com'],
  ['http://example.com:443', 'http://example.com:443'],
  ['https://bücher.example', 'https://xn--bcher-kva.example'],
  ['http://[2A00:1450::0:1]:8080', 'http://[2a00:1450::1]:8080'],
])('%s is read as %s', (text, origin) => {
  expect(parseOrigin(text)).toEqual({ ok: true, origin })
})

test.each([
  ['https://example.com/hook', 'must have no path, query or fragment; write https://example.com'],
  ['https://example.com?a=b', 'must have no path, query or fragment; write https://example.com'],
  ['https://example.com/#a', 'must have no path, query or fragment; write https://example.com'],
  ['https://me:pw@example.com', 'must not contain a user name or password'],
  ['ftp://example.com', 'must start with http:// or https://'],
  ['example.com', 'cannot be read as an origin; write it like https://example.com'],
  ['', 'cannot be read as an origin; write it like https://example.com'],
  ['null', 'cannot be read as an origin; write it like https://example.com'],
])('%j is refused', (text, reason) => {
  expect(parseOrigin(text)).toEqual({ ok: false, reason: expect.stringContaining(reason) })
})
