import { hash } from 'node:crypto'
import { expect, test } from 'vitest'
import { isUuid } from '../../core/ids.ts'
import { adminKeyFrom, isAdminKeyId } from './admin-key.ts'

const KEY = 'correct horse battery staple and so on'

test('the id of an admin key is the same on every node and after every start, and another for another key', () => {
  const { id } = adminKeyFrom(KEY)

  expect(id).toBe('00000000-0000-7000-8000-65647f757c3c')
  expect([isUuid(id), isAdminKeyId(id)]).toEqual([true, true])
  expect(adminKeyFrom(`${KEY}!`).id).not.toBe(id)
})

test('the id of an admin key contains no part of its hash', () => {
  const [, rest = ''] = adminKeyFrom(KEY).id.split('-8000-')

  expect(rest).toHaveLength(12)
  expect(hash('sha256', KEY, 'hex')).not.toContain(rest)
})
