import { expect, test } from 'vitest'
import { nextTurns } from './turns.ts'

const group = (projectId: string, servedIn: number) => ({ projectId, servedIn })
const of = (projectId: string, count: number, servedIn = 0) =>
  Array.from({ length: count }, () => group(projectId, servedIn))

test('groups that fit into one pass keep their order', () => {
  const groups = [group('a', 3), group('a', 0), group('b', 1)]

  expect(nextTurns(groups, 3)).toEqual(groups)
})

test('a project with one group does not wait for those of a project with many', () => {
  const turns = nextTurns([...of('large', 1_000), group('small', 7)], 4)

  expect(turns.map(({ projectId }) => projectId)).toEqual(['large', 'small', 'large', 'large'])
})

test('within a project the group that was served longest ago comes first', () => {
  const turns = nextTurns([group('a', 5), group('a', 2), group('a', 0), group('a', 4)], 2)

  expect(turns.map(({ servedIn }) => servedIn)).toEqual([0, 2])
})

test('with more projects than turns, those served longest ago come first', () => {
  const turns = nextTurns([group('a', 3), group('b', 1), group('c', 2), ...of('c', 5, 0)], 2)

  expect(turns.map(({ projectId }) => projectId)).toEqual(['c', 'b'])
})
