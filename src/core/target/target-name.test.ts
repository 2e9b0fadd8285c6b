import { expect, test } from 'vitest'
import { parseTarget, precisionOf } from './target-name.ts'

test.each([
  ['https://API.example.com', 'https://api.example.com', false],
  ['https://api.example.com:443/', 'https://api.example.com', false],
  ['http://api.example.com:8080', 'http://api.example.com:8080', false],
  ['http://[2606:4700::1]:80', 'http://[2606:4700::1]', false],
  ['SMTP://Mail.example.com', 'smtp://mail.example.com:587', false],
  ['smtp://mail.example.com:80', 'smtp://mail.example.com:80', false],
  ['Api.Example.com', 'api.example.com', true],
  ['*.Example.com', '*.example.com', true],
  ['bücher.example', 'xn--bcher-kva.example', true],
  ['127.0.0.1', '127.0.0.1', true],
])('the target %s is written %s', (text, name, isPattern) => {
  expect(parseTarget(text)).toEqual({ ok: true, name, isPattern })
})

test.each([
  ['', 'is not a valid target'],
  ['*', 'is not a valid target'],
  ['*.', 'is not a valid target'],
  ['a.*.example.com', 'is not a valid target'],
  ['api.example.com:8443', 'is not a valid target'],
  ['api.example.com/hook', 'is not a valid target'],
  ['https://*.example.com', 'must not have a wildcard after a scheme'],
  ['https://api.example.com/hook', 'must not have a path'],
  ['https://ann@example.com', 'must not contain a user name'],
  ['ftp://example.com', 'must start with http:// or https://'],
  ['smtp://mail.example.com/x', 'is not a valid mail server'],
  ['smtp://', 'is not a valid mail server'],
  [`https://${'a'.repeat(300)}.com`, 'must have at most 300 characters'],
])('%j is refused', (text, reason) => {
  expect(parseTarget(text)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
})

test('the most exact pattern comes first', () => {
  const target = 'https://a.b.example.com:8443'
  const patterns = ['*.com', '*.example.com', '*.b.example.com', 'a.b.example.com', target]

  const precisions = patterns.map((pattern) => precisionOf(pattern, target))

  expect(precisions).toEqual([...precisions].sort((a, b) => a - b))
  expect(precisions[0]).toBeGreaterThan(0)
})

test('a pattern matches whole labels of the host, on any scheme and port', () => {
  expect(precisionOf('*.example.com', 'https://badexample.com')).toBe(0)
  expect(precisionOf('*.example.com', 'https://example.com')).toBe(0)
  expect(precisionOf('https://api.example.com', 'http://api.example.com')).toBe(0)
  expect(precisionOf('mail.example.com', 'smtp://mail.example.com:587')).toBeGreaterThan(0)
})
