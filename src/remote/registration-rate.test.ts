import { expect, test } from 'vitest'
import { REGISTRATION_BURST, RegistrationRate } from './registration-rate.ts'

test('a whole fleet can register at once from one address, and a flood is limited', () => {
  const rate = new RegistrationRate()
  const refusedOf = (count: number, address: string, now: number) =>
    Array.from({ length: count }, () => rate.take(address, now)).filter((seconds) => seconds !== undefined)

  expect(refusedOf(REGISTRATION_BURST, 'a', 0)).toEqual([])
  expect(refusedOf(5, 'a', 0)).toEqual([1, 1, 1, 1, 1])
  expect(refusedOf(1, 'b', 0)).toEqual([])
  // A hundred a second go on.
  expect(refusedOf(150, 'a', 1_000)).toHaveLength(50)
})
