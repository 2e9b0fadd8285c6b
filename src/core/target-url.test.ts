import { expect, test } from 'vitest'
import { parseTargetUrl } from './target-url.ts'

test.each([
  'http://example.com',
  'https://example.com:8443/a?b=c#d',
  'http://[::1]:80/',
  'HTTP://EXAMPLE.COM',
])('%s is an address', (text) => {
  expect(parseTargetUrl(text)).toMatchObject({ ok: true, url: new URL(text) })
})

test.each([
  ['', 'cannot be read as a URL'],
  ['example.com/hook', 'cannot be read as a URL'],
  ['http://', 'cannot be read as a URL'],
  ['ftp://example.com', 'must start with http:// or https://, not ftp:'],
  ['javascript:alert(1)', 'must start with http:// or https://, not javascript:'],
  ['https://user@example.com', 'must not contain a user name or password'],
  ['https://user:pass@example.com', 'must not contain a user name or password'],
])('%j is not: it %s', (text, reason) => {
  expect(parseTargetUrl(text)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
})
