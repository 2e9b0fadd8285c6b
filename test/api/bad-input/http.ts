/** The request around the fields: addresses, headers, bodies. */
import { describe, expect, test } from 'vitest'
import { action, long } from '../bad-fields.ts'
import type { Refusals } from './refusals.ts'

export function http({ refused, existing, run }: Refusals): void {
  describe('addresses', () => {
    const ids = [
      '1',
      'null',
      '01900000-0000-7000-8000-00000000000g',
      long(2_000),
      '%00',
      '..%2f..',
      '%F0%9F%98%80',
    ]
    const routes: [string, string][] = [
      ['GET', '/v1/tasks/{id}'],
      ['PATCH', '/v1/tasks/{id}'],
      ['DELETE', '/v1/tasks/{id}'],
      ['POST', '/v1/tasks/{id}/pause'],
      ['POST', '/v1/tasks/{id}/resume'],
      ['POST', '/v1/tasks/{id}/cancel'],
      ['POST', '/v1/tasks/{id}/trigger'],
      ['GET', '/v1/tasks/{id}/versions'],
      ['GET', '/v1/tasks/{id}/versions/1'],
      ['POST', '/v1/tasks/{id}/rollback'],
      ['POST', '/v1/tasks/{id}/backfill'],
      ['GET', '/v1/tasks/{id}/backfills'],
      ['GET', '/v1/backfills/{id}'],
      ['POST', '/v1/backfills/{id}/cancel'],
      ['GET', '/v1/tasks/{id}/runs'],
      ['GET', '/v1/tasks/{id}/attempts'],
      ['GET', '/v1/runs/{id}'],
      ['POST', '/v1/runs/{id}/cancel'],
      ['POST', '/v1/runs/{id}/retry'],
    ]
    /** A body with which nothing is wrong. */
    const rightBody = (method: string, route: string) => {
      if (method === 'PATCH') return { name: 'x' }
      if (route.endsWith('/backfill')) return { from: '2026-01-01T00:00:00Z', to: '2026-01-02T00:00:00Z' }
      return route.endsWith('/rollback') ? { version: 1 } : undefined
    }
    test.each(routes)('%s %s refuses an invalid id', async (method, route) => {
      const payload = rightBody(method, route)
      for (const id of ids) {
        const { body } = await refused(method, route.replace('{id}', id), payload)
        expect(body.errors[0].pointer).toBe('{id}')
      }
    })

    test.each(routes)('%s %s answers 404 for an unknown id', async (method, route) => {
      const payload = rightBody(method, route)
      for (const id of ['01900000-0000-7000-8000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])
        await refused(method, route.replace('{id}', id), payload, {}, 404)
    })

    test('a key that is too long or contains a NUL is refused', async () => {
      const tooLong = await refused('GET', `/v1/tasks/by-key/${long(201)}`, undefined)
      const withNul = await refused('PUT', '/v1/tasks/by-key/a%00b', { action })

      expect(tooLong.body.errors[0]).toMatchObject({
        pointer: '{key}',
        detail: 'must not be longer than 200 characters',
      })
      expect(withNul.body.errors[0].pointer).toBe('{key}')
      await refused('GET', '/v1/tasks/by-key/nobody', undefined, {}, 404)
    })

    test('an address that cannot be decoded or is too long is refused', async () => {
      await refused('GET', '/v1/tasks/%zz', undefined, {}, 400)
      await refused('GET', `/v1/tasks/${long(10_000)}`, undefined, {}, 400)
    })
  })

  describe('headers', () => {
    test.each(['', long(256), 'with space', 'ümlaut', 'tab\there'])(
      'the Idempotency-Key %j is refused',
      async (key) => {
        const { body } = await refused('POST', '/v1/tasks', { action }, { 'idempotency-key': key })

        expect(body.errors).toEqual([
          { pointer: 'idempotency-key', detail: 'must be 1 to 255 visible ASCII characters' },
        ])
      },
    )

    test.each(['3', 'W/"1"', '"x"', '"99999999999"', '"1", "2"', ''])(
      'If-Match %j is refused',
      async (value) => {
        const { body } = await refused(
          'PATCH',
          `/v1/tasks/${existing.id}`,
          { name: 'x' },
          { 'if-match': value },
          412,
        )

        expect(body.errors[0].pointer).toBe('if-match')
      },
    )

    test('an invalid traceparent is ignored', async () => {
      await refused('POST', '/v1/tasks', { action, name: '' }, { traceparent: 'nonsense' })
    })

    test('a Host that is not this machine gets 421', async () => {
      await refused('GET', '/v1/tasks', undefined, { host: 'evil.example' }, 421)
    })
  })

  describe('bodies', () => {
    const json = { 'content-type': 'application/json' }
    test.each<[string, string, Record<string, string>, number, string]>([
      ['broken JSON', '{"action":', json, 400, 'malformed_request'],
      ['a trailing comma', '{"action":{},}', json, 400, 'malformed_request'],
      ['NaN', '{"maxRuns":NaN}', json, 400, 'malformed_request'],
      ['text', 'hello', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
      [
        'a form',
        'action=sleep',
        { 'content-type': 'application/x-www-form-urlencoded' },
        415,
        'unsupported_media_type',
      ],
      ['a broken content type', '{}', { 'content-type': ';;;' }, 415, 'unsupported_media_type'],
      ['a prototype', '{"__proto__":{"name":"x"}}', json, 400, 'malformed_request'],
      ['a nested prototype', '{"action":{"__proto__":1}}', json, 400, 'malformed_request'],
      ['a constructor', '{"constructor":{"prototype":{}}}', json, 400, 'malformed_request'],
      ['nothing', '', json, 422, 'invalid_input'],
      ['null', 'null', json, 422, 'invalid_input'],
      ['a list', '[]', json, 422, 'invalid_input'],
      ['a number', '1e999', json, 422, 'invalid_input'],
      ['a string', '"x"', json, 422, 'invalid_input'],
      ['a byte order mark and nothing', '\ufeff', json, 400, 'malformed_request'],
      [
        'deep lists',
        `{"metadata":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
        json,
        422,
        'invalid_input',
      ],
      ['deep objects', `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`, json, 422, 'invalid_input'],
      [
        'more than a mebibyte',
        JSON.stringify({ action, name: long(1024 * 1024) }),
        json,
        413,
        'payload_too_large',
      ],
    ])('%s is refused', async (_, payload, headers, status, code) => {
      for (const [method, url] of [
        ['POST', '/v1/tasks'],
        ['PATCH', `/v1/tasks/${existing.id}`],
        ['PUT', '/v1/tasks/by-key/existing'],
        ['POST', '/v1/schedules/preview'],
      ] as const) {
        const { body } = await refused(method, url, payload, headers, status)
        expect(body.code).toBe(code)
      }
    })

    describe('numbers', () => {
      const places: [string, string, (number: string) => string, string][] = [
        [
          'POST',
          '/v1/tasks',
          (n) => `{"action":{"type":"webhook","url":"http://a.example","body":{"n":[0,${n}]}}}`,
          '/action/body/n/1',
        ],
        [
          'POST',
          '/v1/tasks',
          (n) => `{"action":{"type":"handler","name":"h","payload":${n}}}`,
          '/action/payload',
        ],
        [
          'POST',
          '/v1/tasks',
          (n) => `{"action":{"type":"slack","url":"http://a.example","blocks":[{"n":${n}}]}}`,
          '/action/blocks/0/n',
        ],
        [
          'POST',
          '/v1/tasks',
          (n) => `{"action":{"type":"sleep","duration":"1s"},"metadata":{"a/b":${n}}}`,
          '/metadata/a~1b',
        ],
        [
          'POST',
          '/v1/tasks/bulk',
          (n) => `{"tasks":[{"action":{"type":"sleep","duration":"1s"},"metadata":{"n":${n}}}]}`,
          '/tasks/0/metadata/n',
        ],
        [
          'PUT',
          '/v1/tasks/by-key/existing',
          (n) => `{"action":{"type":"sleep","duration":"1s"},"metadata":{"n":${n}}}`,
          '/metadata/n',
        ],
        ['PATCH', `/v1/tasks/${existing.id}`, (n) => `{"metadata":{"n":${n}}}`, '/metadata/n'],
        [
          'POST',
          `/v1/tasks/${existing.id}/trigger`,
          (n) => `{"action":{"body":{"n":${n}}}}`,
          '/action/body/n',
        ],
        ['POST', '/v1/worker/complete', (n) => `{"runs":[{"result":{"n":${n}}}]}`, '/runs/0/result/n'],
      ]
      test.each(places)(
        '%s %s: a number that a double cannot represent exactly is refused',
        async (method, url, bodyOf, pointer) => {
          const changed: [string, string][] = [
            [
              '12345678901234567890',
              'is 12345678901234567890, which would be stored as 12345678901234567000; send a number that a double can represent exactly, or a string',
            ],
            [
              '-1e400',
              'is -1e400, which is beyond the range of a double; send a number that a double can represent exactly, or a string',
            ],
            ['1e-400', 'would be stored as 0'],
            ['0.1234567890123456789', 'would be stored as 0.12345678901234568'],
          ]
          for (const [literal, detail] of changed) {
            const { body } = await refused(method, url, bodyOf(literal), json)
            expect(body.errors).toEqual([{ pointer, detail: expect.stringContaining(detail) }])
          }
        },
      )
    })

    test.each([Buffer.from('{"name":"\xff"}', 'latin1'), Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])])(
      'a body that is not UTF-8 is refused',
      async (payload) => {
        for (const url of ['/v1/tasks', '/v1/tasks/bulk', '/v1/worker/complete']) {
          const { body } = await refused('POST', url, payload, json, 400)
          expect(body).toMatchObject({ code: 'malformed_request', detail: 'The body is not valid UTF-8.' })
        }
      },
    )

    test('the answer names the list item that is not valid JSON', async () => {
      for (const [text, item] of [
        ['{"tasks":[{},]}', 1],
        ['{"tasks":[{} {}]}', 0],
        ['{"tasks":[{"__proto__":{}}]}', 0],
      ] as const) {
        const { body } = await refused('POST', '/v1/tasks/bulk', text, json, 400)
        expect(body).toMatchObject({ code: 'malformed_request', detail: `/tasks/${item} is not valid JSON.` })
      }
    })

    test('a request without fields accepts only an empty body', async () => {
      const { body } = await refused('POST', `/v1/tasks/${existing.id}/cancel`, { payload: 1 })
      expect(body.errors[0]).toEqual({
        pointer: '/payload',
        detail: 'is not a known field; this object has no fields',
      })
      await refused('POST', `/v1/runs/${run.id}/cancel`, [])
      await refused('POST', `/v1/runs/${run.id}/retry`, { input: 1 })
    })
  })
}
