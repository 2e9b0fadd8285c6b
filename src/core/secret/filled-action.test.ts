import { expect, test } from 'vitest'
import type { Action } from '../action/action.ts'
import { parseWantedUrl } from '../action/target-url.ts'
import { filledAction } from './filled-action.ts'
import { isReference, secretNamesOf } from './secret-reference.ts'

const VALUES: Readonly<Record<string, string>> = {
  A: 'a b/c?&"d"\\é',
  LINES: 'one\r\ntwo',
  MAIL: 'ada@example.com',
}
const filled = (action: Action) => filledAction(action, (name) => VALUES[name] ?? `no ${name}`)

test('values in a URL are percent-encoded', () => {
  const url = 'https://example.com/hooks/{{secret.A}}?key={{secret.A}}'

  expect(filled({ type: 'ping', url })).toEqual({
    type: 'ping',
    url: 'https://example.com/hooks/a%20b%2Fc%3F%26%22d%22%5C%C3%A9?key=a%20b%2Fc%3F%26%22d%22%5C%C3%A9',
  })
})

test('a value inserted into JSON keeps it valid, whether it is given as JSON or as text', () => {
  const sent = '{"token":"a b/c?&\\"d\\"\\\\é","n":1}'
  const url = 'https://example.com/'

  expect(filled({ type: 'webhook', url, body: { token: '{{secret.A}}', n: 1 } })).toMatchObject({
    body: sent,
  })
  expect(filled({ type: 'webhook', url, body: '{"token":"{{secret.A}}","n":1}' })).toMatchObject({
    body: sent,
  })
  expect(
    filled({ type: 'handler', name: 'h', payload: { 'k{{secret.A}}': ['{{secret.A}}'] } }),
  ).toMatchObject({
    payload: { [`k${VALUES['A']}`]: [VALUES['A']] },
  })
})

test('a program has values in its environment, its input and its files', () => {
  const exec = (more: object) => filled({ type: 'exec', file: 'f', ...more })

  expect(exec({ env: { TOKEN: 'x {{secret.A}}' } })).toMatchObject({ env: { TOKEN: `x ${VALUES['A']}` } })
  expect(exec({ stdin: 'read {{secret.A}}' })).toMatchObject({ stdin: `read ${VALUES['A']}` })
  expect(exec({ stdin: { a: '{{secret.A}}' } })).toMatchObject({ stdin: JSON.stringify({ a: VALUES['A'] }) })
  expect(exec({ files: [{ path: 'a', content: '{{secret.LINES}}' }] })).toMatchObject({
    files: [{ path: 'a', content: VALUES['LINES'] }],
  })
  expect(
    secretNamesOf({
      type: 'exec',
      command: '/bin/true',
      env: { A: '{{secret.ONE}}' },
      stdin: ['{{secret.TWO}}'],
      files: [{ path: 'a', content: '{{secret.THREE}}' }],
    }),
  ).toEqual(['ONE', 'THREE', 'TWO'])
})

test('values in other text are inserted unchanged, and in a form encoded', () => {
  const request = { type: 'http', url: 'https://example.com/', method: 'POST' } as const
  const form = { 'Content-Type': 'application/x-www-form-urlencoded; charset=utf-8' }

  expect(filled({ ...request, body: 'token {{secret.A}}' })).toMatchObject({ body: `token ${VALUES['A']}` })
  expect(filled({ ...request, headers: form, body: 'a=1&b={{secret.A}}' })).toMatchObject({
    body: 'a=1&b=a%20b%2Fc%3F%26%22d%22%5C%C3%A9',
  })
})

test('a header refuses a value with line breaks without revealing it', () => {
  const request = { type: 'http', url: 'https://example.com/', method: 'GET' } as const
  const email = { type: 'email', to: '{{secret.MAIL}}', text: '{{secret.LINES}}' } as const

  expect(filled({ ...request, headers: { authorization: 'Bearer {{secret.A}}' } })).toMatchObject({
    headers: { authorization: `Bearer ${VALUES['A']}` },
  })
  expect(() => filled({ ...request, headers: { 'x-key': '{{secret.LINES}}' } })).toThrow(
    /^The secret LINES cannot be used in the header x-key: it contains line breaks(?!.*one)/,
  )
  expect(() => filled({ ...email, subject: '{{secret.LINES}}' })).toThrow('cannot be used in the subject')
  expect(filled({ ...email, subject: 'hi', html: '<b>{{secret.A}}</b>' })).toMatchObject({
    to: 'ada@example.com',
    text: 'one\r\ntwo',
    html: '<b>a b/c?&amp;&quot;d&quot;\\é</b>',
  })
})

test('names are found wherever references count, each once', () => {
  expect(
    secretNamesOf({
      type: 'http',
      url: 'https://example.com/{{secret.B}}',
      method: 'POST',
      headers: { a: '{{secret.A}}', b: '{{secret.A}}' },
      body: { deep: ['{{secret.C}}'] },
    }),
  ).toEqual(['A', 'B', 'C'])
  expect(
    secretNamesOf({
      type: 'slack',
      url: 'https://hooks.slack.com/services/{{secret.S}}',
      blocks: [{ t: '{{secret.T}}' }],
    }),
  ).toEqual(['S', 'T'])
  expect(
    secretNamesOf({
      type: 'email',
      to: ['{{secret.MAIL}}', 'b@example.com'],
      subject: 's',
      html: '{{secret.H}}',
    }),
  ).toEqual(['H', 'MAIL'])
  expect(secretNamesOf({ type: 'sleep', duration: '1s' })).toBeNull()
})

test.each([
  '{{ secret.A }}',
  '{{secret.}}',
  '{{secret.1A}}',
  '{{other.A}}',
  '{{secret.A b}}',
  '{secret.A}',
  '{{secret.A}',
])('%s is text like any other', (text) => {
  const action: Action = { type: 'webhook', url: 'https://example.com/', body: { text } }
  expect(secretNamesOf(action)).toBeNull()
  expect(filled(action)).toMatchObject({ body: JSON.stringify({ text }) })
  expect(isReference(text)).toBe(false)
})

test.each([
  'https://{{secret.A}}/hook',
  'https://{{secret.A}}.example.com/hook',
  'https://example.com:{{secret.A}}/',
  '{{secret.A}}://example.com/',
  '{{secret.A}}',
  'https://user:{{secret.A}}@example.com/',
  'https:\\\\{{secret.A}}\\x',
  'https:/{{secret.A}}/x',
])('%s is refused: the target must be known', (url) => {
  expect(parseWantedUrl(url)).toMatchObject({
    ok: false,
    reason: expect.stringContaining('allowed only in the path or query'),
  })
})

test('a secret may stand in the path, the query and the fragment', () => {
  expect(parseWantedUrl('https://example.com/{{secret.A}}/x?k={{secret.B}}#{{secret.C}}')).toMatchObject({
    ok: true,
  })
  expect(parseWantedUrl('https://example.com/{{ x }}')).toMatchObject({ ok: true })
  expect(parseWantedUrl('http://169.254.169.254/{{secret.A}}')).toMatchObject({ ok: false })
})
