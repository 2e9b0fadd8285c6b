import { expect, test } from 'vitest'
import { troubleOf } from './database-trouble.ts'

const failed = (code: string) => Object.assign(new Error('failed'), { code })

test.each([
  ['25006', 'database_read_only', /default_transaction_read_only/],
  ['53100', 'database_full', /Free or add disk space/],
  ['53200', 'database_overloaded', /out of memory/],
  ['53300', 'database_overloaded', /max_connections/],
  ['53400', 'database_overloaded', /resource/],
  ['57P01', 'unavailable', /starting up, shutting down/],
  ['57P02', 'unavailable', /starting up, shutting down/],
  ['57P03', 'unavailable', /starting up, shutting down/],
  ['08006', 'unavailable', /reachable/],
  ['ECONNREFUSED', 'unavailable', /reachable/],
  ['28P01', 'unavailable', /login/],
  ['42501', 'unavailable', /privileges/],
  ['40P01', 'unavailable', /too busy/],
  ['57014', 'unavailable', /too busy/],
  ['58030', 'unavailable', /files/],
])('%s is a state of the database that may pass: %s', (state, code, advice) => {
  expect(troubleOf(failed(state))).toEqual({ code, detail: expect.stringMatching(advice) })
})

test.each(['22P02', '23505', '42703', '42601', 'XX000'])(
  '%s is not database trouble, because trying again changes nothing',
  (state) => {
    expect(troubleOf(failed(state))).toBeUndefined()
  },
)

test('an error from outside the database is not database trouble', () => {
  expect(troubleOf(new TypeError('x is not a function'))).toBeUndefined()
})
