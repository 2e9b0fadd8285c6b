import { expect, test } from 'vitest'
import { requestText } from './request-text.ts'

test('headers come before the body', () => {
  const text = requestText({
    type: 'http',
    url: 'https://example.com',
    method: 'POST',
    headers: { accept: 'text/plain', 'x-tenant': 'acme' },
    body: { a: 1 },
  })

  expect(text).toBe('accept: text/plain\nx-tenant: acme\n\n{\n  "a": 1\n}')
})

test('an action without headers and body shows no request text', () => {
  expect(requestText({ type: 'sleep', duration: '1s' })).toBe('')
  expect(requestText({ type: 'webhook', url: 'https://example.com' })).toBe('')
})
