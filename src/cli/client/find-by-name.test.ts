import { expect, test } from 'vitest'
import { EXIT } from '../exit.ts'
import { findByName } from './find-by-name.ts'

const [first, second, third] = [
  { id: '0a', name: 'nights' },
  { id: '0b', name: 'nights' },
  { id: '0c', name: null },
] as const
const find = (ref: string) => findByName('blackout', ref, [first, second, third], ({ id }) => `is ${id}`)

test('an item is found by its id in upper or lower case, and by a unique name', () => {
  expect(find('0C')).toBe(third)
  expect(find('0b')).toBe(second)
  expect(findByName('blackout', 'nights', [first, third], () => '')).toBe(first)
})

test('an item is found by the beginning of its id, unless another item has that name', () => {
  const items = [
    { id: '01a1e128-d49d-7000-92ca-b285fcbd8a00', name: 'nights' },
    { id: '01a1e128-d49d-7000-92ca-b285fcbd8a01', name: '01a1e128-d49d-7000-92ca-b285fcbd8a' },
  ] as const
  const named = (ref: string) => findByName('blackout', ref, items, ({ name }) => name)

  expect(() => named('01A1E128')).toThrow("2 blackouts have an id that starts with '01A1E128'.")
  expect(() => named('01a1e12')).toThrow('No blackout has')
  expect(() => named('01a1e128d49d')).toThrow('No blackout has')
  expect(named('01a1e128-d49d-7000-92ca-b285fcbd8a')).toBe(items[1])
})

test('a name that no item or several items have is refused, with the candidates listed', () => {
  expect(() => find('days')).toThrow(
    expect.objectContaining({
      message: "No blackout has the id or name 'days'.",
      exitCode: EXIT.notFound,
    }),
  )
  expect(() => find('nights')).toThrow(
    expect.objectContaining({
      message: "2 blackouts have the name 'nights'.",
      exitCode: EXIT.conflict,
      details: { why: ['0a  is 0a', '0b  is 0b'] },
    }),
  )
})
