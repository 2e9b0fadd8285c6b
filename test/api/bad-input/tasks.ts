/** Tasks as they are created and edited: each field, in each of the ways in. */
import { describe, expect, test } from 'vitest'
import { action, FIELD_CASES } from '../bad-fields.ts'
import type { Refusals } from './refusals.ts'

export function tasks({ refused, existing }: Refusals): void {
  describe('POST /v1/tasks', () => {
    test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
      const { body } = await refused('POST', '/v1/tasks', { action, ...fields })

      expect(body).toMatchObject({ code: 'invalid_input', errors: expect.any(Array) })
      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
    })

    test('reports all errors, up to 20', async () => {
      const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`field${i}`, i]))

      const { body } = await refused('POST', '/v1/tasks', { name: 1, maxRuns: 0, ...many })

      expect(body.errors).toHaveLength(20)
      expect(body.errors.map((e: { pointer: string }) => e.pointer)).toEqual(
        expect.arrayContaining(['/action', '/name', '/maxRuns', '/field0']),
      )
      expect(body.detail).toMatch(/; and 17 more\.$/)
    })
  })

  describe('PATCH /v1/tasks/{id}', () => {
    test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
      const { body } = await refused('PATCH', `/v1/tasks/${existing.id}`, fields)

      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
    })

    test('refuses an edit that changes nothing', async () => {
      const { body } = await refused('PATCH', `/v1/tasks/${existing.id}`, {})

      expect(body.detail).toBe('the body must name at least one field to change.')
    })
  })

  describe('PUT /v1/tasks/by-key/{key}', () => {
    test.each(FIELD_CASES)('refuses %s', async (_, fields, pointer, says) => {
      const key = (fields as { key?: unknown }).key === undefined ? 'existing' : 'other'
      const { body } = await refused('PUT', `/v1/tasks/by-key/${key}`, { action, ...fields })

      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
    })

    test('refuses a key in the body that differs from the key in the address', async () => {
      const { body } = await refused('PUT', '/v1/tasks/by-key/one', { action, key: 'two' })

      expect(body.errors).toEqual([{ pointer: '/key', detail: 'is "two", but the path names "one"' }])
    })
  })

  describe('POST /v1/tasks/bulk', () => {
    test.each(FIELD_CASES)('refuses %s and names the index', async (_, fields, pointer, says) => {
      const { body } = await refused('POST', '/v1/tasks/bulk', { tasks: [{ action }, { action, ...fields }] })

      expect(body.errors[0].pointer).toBe(`/tasks/1${pointer}`)
      expect(body.errors[0].detail).toContain(says)
    })

    test.each([
      ['no list', {}, '/tasks', 'is required'],
      ['a list of none', { tasks: [] }, '/tasks', 'must contain at least 1 item'],
      [
        'one too many',
        { tasks: Array(10_001).fill({ action }) },
        '/tasks',
        'must not contain more than 10000 items',
      ],
      ['an item that is null', { tasks: [null] }, '/tasks/0', 'must be an object, not null'],
      [
        'an unknown field',
        { tasks: [{ action }], dryRun: true },
        '/dryRun',
        'is not a known field; known fields: tasks',
      ],
    ])('refuses %s', async (_, payload, pointer, says) => {
      const { body } = await refused('POST', '/v1/tasks/bulk', payload)

      expect(body.errors[0].pointer).toBe(pointer)
      expect(body.errors[0].detail).toContain(says)
    })

    test('refuses a key that exists or occurs twice, and names the item', async () => {
      const taken = { tasks: [{ action }, { action, key: 'existing' }] }
      const twice = { tasks: [{ action, key: 'new' }, { action }, { action, key: 'new' }] }

      const first = await refused('POST', '/v1/tasks/bulk', taken, {}, 409)
      const second = await refused('POST', '/v1/tasks/bulk', twice, {}, 409)

      expect(first.body).toMatchObject({ code: 'key_in_use', errors: [{ pointer: '/tasks/1/key' }] })
      expect(second.body).toMatchObject({ code: 'key_in_use', errors: [{ pointer: '/tasks/2/key' }] })
    })
  })

  describe('a long list', () => {
    const longList = (last: object) => ({ tasks: [...Array(1_200).fill({ action }), last] })

    test('is refused as a whole when only its last item is wrong', async () => {
      const unknown = await refused('POST', '/v1/tasks/bulk', longList({ action, retries: 1 }))
      const past = await refused(
        'POST',
        '/v1/tasks/bulk',
        longList({ action, endAt: '2020-01-01T00:00:00Z' }),
      )
      const taken = await refused('POST', '/v1/tasks/bulk', longList({ action, key: 'existing' }), {}, 409)

      expect(unknown.body.errors).toMatchObject([{ pointer: '/tasks/1200/retries' }])
      expect(past.body.errors).toMatchObject([{ pointer: '/tasks/1200/endAt', detail: 'is in the past' }])
      expect(taken.body.errors).toMatchObject([{ pointer: '/tasks/1200/key' }])
    })

    test('with many errors gets the first twenty', async () => {
      const { body } = await refused('POST', '/v1/tasks/bulk', { tasks: Array(1_200).fill({}) })

      expect(body.errors).toHaveLength(20)
      expect(body.errors[19].pointer).toBe('/tasks/19/action')
    })
  })
}
