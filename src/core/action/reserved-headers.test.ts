import { expect, test } from 'vitest'
import { isReservedHeader } from './reserved-headers.ts'

test.each(['Host', 'content-length', 'Transfer-Encoding', 'connection', 'webhook-id', 'Belfry-Fence'])(
  'the header %s is reserved',
  (name) => {
    expect(isReservedHeader(name)).toBe(true)
  },
)

test.each(['authorization', 'content-type', 'accept', 'x-anything', 'cookie'])(
  'the header %s is not reserved',
  (name) => {
    expect(isReservedHeader(name)).toBe(false)
  },
)
