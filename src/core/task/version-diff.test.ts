import { expect, test } from 'vitest'
import { changesBetween, MAX_CHANGES } from './version-diff.ts'

const changed = (before: object, after: object) =>
  changesBetween(before, after).map(({ field, before, after }) => [field, before, after])

test('only differences are listed, each with its field', () => {
  const before = {
    name: 'a',
    retry: { limit: 3, max: '30s' },
    tags: ['x'],
    action: { type: 'http', headers: { a: '1' } },
  }
  const after = {
    name: 'a',
    retry: { limit: 5, max: '30s' },
    tags: ['x', 'y'],
    action: { type: 'http', headers: { b: '1' } },
  }

  expect(changed(before, after)).toEqual([
    ['retry.limit', 3, 5],
    ['tags', ['x'], ['x', 'y']],
    ['action.headers.a', '1', null],
    ['action.headers.b', null, '1'],
  ])
})

test('a change of type is one change, and the order of members does not matter', () => {
  const daily = { type: 'daily', hour: 9 }
  const every = { type: 'every', interval: '1h' }

  expect(changed({ schedule: daily }, { schedule: every })).toEqual([['schedule', daily, every]])
  expect(changed({ a: { x: 1, y: 2 } }, { a: { y: 2, x: 1 } })).toEqual([])
})

test('long values are cut, and the number of changes is limited', () => {
  const [change] = changesBetween({ body: 'a'.repeat(10_000) }, { body: 'b' })
  const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, i) => [`m${i}`, i]))

  expect(change).toMatchObject({ after: 'b', isCut: true })
  expect(String(change?.before)).toHaveLength(500)
  expect(changesBetween({}, many)).toHaveLength(MAX_CHANGES)
})
