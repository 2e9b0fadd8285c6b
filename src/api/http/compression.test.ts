import { expect, test } from 'vitest'
import { acceptsGzip } from './compression.ts'

test.each([
  [undefined, false],
  ['', false],
  ['identity', false],
  ['br', false],
  ['gzip', true],
  ['GZIP;q=0.5, br', true],
  ['deflate, gzip;q=1.0, *;q=0', true],
  ['gzip;q=0, *', false],
  ['gzip; q=0.0', false],
  ['*', true],
  ['x-gzip-not', false],
])('a client that sends accept-encoding %j takes gzip: %s', (header, isTaken) => {
  expect(acceptsGzip(header)).toBe(isTaken)
})
