import { expect, test } from 'vitest'
import { parseTargetUrl, parseWantedUrl } from './target-url.ts'

test.each([
  'http://example.com',
  'https://example.com:8443/a?b=c#d',
  'http://[::1]:80/',
  'HTTP://EXAMPLE.COM',
])('%s is an address', (text) => {
  expect(parseTargetUrl(text)).toMatchObject({ ok: true, url: new URL(text) })
})

test.each([
  ['', 'is not a valid URL'],
  ['example.com/hook', 'is not a valid URL'],
  ['http://', 'is not a valid URL'],
  ['ftp://example.com', 'must start with http:// or https://, not ftp:'],
  ['javascript:alert(1)', 'must start with http:// or https://, not javascript:'],
  ['https://user@example.com', 'must not contain a user name or password'],
  ['https://user:pass@example.com', 'must not contain a user name or password'],
])('%j is not a target URL: it %s', (text, reason) => {
  expect(parseTargetUrl(text)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
})

test.each([
  ['http://169.254.169.254/latest', 'must not point to 169.254.169.254, which is link-local'],
  ['http://0xa9fea9fe/', 'must not point to 169.254.169.254'],
  ['http://[fe80::1]/', 'which is link-local'],
  ['http://[fd00:ec2::254]/', 'which is a metadata service'],
  ['http://0.0.0.0/', 'which is unspecified'],
  ['http://', 'is not a valid URL'],
])('the URL %s is never allowed: it %s', (text, reason) => {
  expect(parseWantedUrl(text)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) })
})

test.each(['http://127.0.0.1/', 'http://10.0.0.1/', 'http://[::1]/', 'http://localhost/', 'http://1.1.1.1/'])(
  '%s is accepted; settings and name resolution decide when the request is made',
  (text) => {
    expect(parseWantedUrl(text)).toMatchObject({ ok: true })
  },
)

test('a URL that decodes differently as UTF-8 is refused every time it is parsed', () => {
  const text = Buffer.from('http://１００.１００.１００.２００:8080/').toString('latin1')

  for (let i = 0; i < 50_000; i++)
    if (parseTargetUrl(text).ok) throw new Error(`it was read, the ${i}th time`)
})
