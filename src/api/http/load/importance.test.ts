import { expect, test } from 'vitest'
import { importanceOf } from './importance.ts'

test.each([
  ['GET', '/v1/tasks', 'browse'],
  ['HEAD', '/v1/tasks', 'browse'],
  ['GET', '/v1/stats', 'browse'],
  ['GET', '/v1/stream', 'browse'],
  ['GET', '/v1/tasks/:id/runs', 'browse'],
  ['POST', '/retrieve_all_jobs', 'browse'],
  ['GET', '/tasks', 'browse'],
  ['GET', '/v1/tasks/:id', 'read'],
  ['GET', '/v1/tasks/by-key/:key', 'read'],
  ['GET', '/v1/tasks/:id/why', 'read'],
  ['GET', '/v1/server', 'read'],
  ['GET', '/v1/me', 'read'],
  ['GET', '/auth/callback', 'change'],
  ['POST', '/auth/sign-in', 'change'],
  ['POST', '/v1/tasks', 'change'],
  ['PUT', '/v1/tasks/by-key/:key', 'change'],
  ['DELETE', '/v1/tasks/:id', 'change'],
  ['POST', '/tasks', 'change'],
  ['POST', '/v1/worker/complete', 'vital'],
  ['POST', '/task/create', 'change'],
  ['POST', '/task/status', 'read'],
  ['POST', '/task/update', 'change'],
  ['POST', '/signurl/create', 'change'],
  ['POST', '/file/status', 'read'],
  ['POST', '/submit_job', 'change'],
])('%s %s is of the kind %s', (method, url, importance) => {
  expect(importanceOf({ method, url })).toBe(importance)
})

test.each([
  ['GET', '/healthz', 'public', 'vital'],
  ['GET', '/assets/:name', 'public', 'vital'],
  ['GET', '/docs/', 'public', 'vital'],
  ['POST', '/health_check', 'token', 'vital'],
  ['GET', '/auth/callback', 'public', 'change'],
  ['POST', '/made_up', 'edit', 'change'],
] as const)('%s %s with the access %s is of the kind %s', (method, url, access, importance) => {
  expect(importanceOf({ method, url, config: { access } })).toBe(importance)
})

test('a route can set its importance', () => {
  expect(importanceOf({ method: 'GET', url: '/v1/me', config: { importance: 'change' } })).toBe('change')
})
