import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, test } from 'vitest'
import { cookieOf, setCookie } from './session-cookie.ts'

const PUBLIC = 'https://belfry.example.com'
const request = (headers: Record<string, string>, protocol = 'http') =>
  ({ headers: { host: 'belfry.example.com', ...headers }, protocol }) as unknown as FastifyRequest

/** The header that sets the cookie of a session. */
function cookieSetFor(from: FastifyRequest, publicUrl: string | null): string {
  let value = ''
  const reply = { header: (_: string, text: string) => (value = text) } as unknown as FastifyReply
  setCookie(from, reply, { name: 'belfry', value: 'token', maxAgeSeconds: 60 }, publicUrl)
  return value
}

const SECURE = '__Host-belfry=token; Path=/; HttpOnly; SameSite=Lax; Max-Age=60; Secure'
const PLAIN = 'belfry=token; Path=/; HttpOnly; SameSite=Lax; Max-Age=60'

test.each<[string, FastifyRequest, string | null, string]>([
  ['TLS, or a trusted proxy with it', request({}, 'https'), null, SECURE],
  ['a proxy that is not trusted, at the public address', request({}), PUBLIC, SECURE],
  ['this machine, beside the public address', request({ host: '127.0.0.1:3369' }), PUBLIC, PLAIN],
  ['plain HTTP', request({}), null, PLAIN],
  ['a public address that is plain HTTP', request({}), 'http://belfry.example.com', PLAIN],
])('the session cookie has the right name and attributes for %s', (_, from, publicUrl, cookie) => {
  expect(cookieSetFor(from, publicUrl)).toBe(cookie)
})

test('over HTTPS only the __Host- cookie is accepted', () => {
  const cookie = 'other=1; belfry=planted; __Host-belfry=own; __Host-belfry2=x'

  expect(cookieOf(request({ cookie }, 'https'), 'belfry', null)).toBe('own')
  expect(cookieOf(request({ cookie }), 'belfry', null)).toBe('planted')
  expect(cookieOf(request({ cookie: 'belfry=planted' }, 'https'), 'belfry', null)).toBeNull()
  expect(cookieOf(request({}), 'belfry', null)).toBeNull()
})
