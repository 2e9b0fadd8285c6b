import { expect, test } from 'vitest'
import { isUnavailable, sqlState } from './database.ts'

const failed = (code: string) => Object.assign(new Error('failed'), { code })

test('a connection that broke while it was written to means that the database is unavailable', () => {
  for (const code of ['EPIPE', 'ECONNRESET', 'ENOENT']) {
    expect(sqlState(failed(code))).toBeUndefined()
    expect(isUnavailable(failed(code))).toBe(true)
  }
})

test('an error of the server is distinguished from an unavailable database', () => {
  expect(sqlState(failed('XX000'))).toBe('XX000')
  expect(isUnavailable(failed('23505'))).toBe(false)
  expect(isUnavailable(failed('57P01'))).toBe(true)
})
