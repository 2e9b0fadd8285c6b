import { expect, test } from 'vitest'
import { differences } from './differences.ts'

test('only values that differ are listed, by path', () => {
  const before = { name: 'a', retry: { limit: 3, max: '30s' }, tags: ['x'], schedule: { type: 'manual' } }
  const after = {
    ...before,
    retry: { limit: 5, max: '30s' },
    tags: ['x', 'y'],
    schedule: { type: 'every', interval: '1m' },
  }

  expect(differences(before, after)).toEqual([
    { path: 'retry.limit', before: 3, after: 5 },
    { path: 'tags', before: ['x'], after: ['x', 'y'] },
    { path: 'schedule.type', before: 'manual', after: 'every' },
    { path: 'schedule.interval', before: undefined, after: '1m' },
  ])
  expect(differences(before, before)).toEqual([])
})
