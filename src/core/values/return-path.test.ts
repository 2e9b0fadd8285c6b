import { expect, test } from 'vitest'
import { returnPath } from './return-path.ts'

test.each(['/', '/tasks', '/tasks/1/edit?tz=utc#x', '/runs?state=failed&q=a%20b'])(
  '%s is a place to return to',
  (path) => {
    expect(returnPath(path)).toBe(path)
    expect(new URL(returnPath(path), 'https://belfry.example.com').origin).toBe('https://belfry.example.com')
  },
)

test.each([
  'https://evil.example',
  '//evil.example',
  '/\\evil.example',
  '\\/evil.example',
  '/a\\b',
  '/\t/evil.example',
  '/a\r\nset-cookie: x=1',
  'javascript:alert(1)',
  'tasks',
  '',
  `/${'a'.repeat(2_000)}`,
  ['/tasks'],
  undefined,
])('%j leads to the start page', (text) => {
  expect(returnPath(text)).toBe('/')
})
