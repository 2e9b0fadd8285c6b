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
  ['https://example.com/hook', 'must not have a path, query or fragment; use https://example.com'],
  ['https://example.com?a=b', 'must not have a path, query or fragment; use https://example.com'],
  ['https://example.com/#a', 'must not have a path, query or fragment; use https://example.com'],
  ['https://me:pw@example.com', 'must not contain a user name or password'],
  ['ftp://example.com', 'must start with http:// or https://'],
  ['example.com', 'is not a valid origin; use the form https://example.com'],
  ['', 'is not a valid origin; use the form https://example.com'],
  ['null', 'is not a valid origin; use the form https://example.com'],
])('%j is refused', (text, reason) => {
  expect(parseOrigin(text)).toEqual({ ok: false, reason: expect.stringContaining(reason) })
})
