import { expect, test } from 'vitest'
import { requestText } from './request-text.ts'

test('headers come before the body, and secrets are told by their length', () => {
  const text = requestText({
    type: 'http',
    url: 'https://example.com',
    method: 'POST',
    headers: { accept: 'text/plain', Authorization: 'Bearer abcdef', 'x-api-key': '12345' },
    body: { a: 1 },
  })

  expect(text).toBe(
    'accept: text/plain\nAuthorization: Bearer ••• (6 characters)\nx-api-key: ••• (5 characters)\n\n{\n  "a": 1\n}',
  )
})

test('what sends nothing shows nothing', () => {
  expect(requestText({ type: 'sleep', duration: '1s' })).toBe('')
  expect(requestText({ type: 'webhook', url: 'https://example.com' })).toBe('')
})
