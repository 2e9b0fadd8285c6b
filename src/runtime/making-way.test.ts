import { expect, test } from 'vitest'
import { makingWay } from './making-way.ts'

/** Items named after their project and their number in it, each a millisecond after the one before. */
const placed = (names: string) =>
  names.split(' ').map((name, since) => ({ name, projectId: name.charAt(0), since }))
const waiting = (names: string) => [...names].map((projectId) => ({ projectId }))
const leaving = (has: string, waits: string, before = 1_000) =>
  makingWay({ placed: placed(has), waiting: waiting(waits), before })
    .map(({ name }) => name)
    .join(' ')

test.each([
  ['of the project that has most, the longest first', 'a1 b1 a2 a3 b2', 'cc', 'a1 b1'],
  ['of the own project, if no other has more', 'b1 a1 a2 b2', 'a', 'a1'],
  ['of the own project, if it has most', 'b1 a1 a2', 'aa', 'a1 a2'],
  ['of another project, although the own has some', 'a1 b1 b2 b3', 'a', 'b1'],
  ['in turn, if each project has one', 'a1 b1 c1', 'de', 'a1 b1'],
  ['of none, if each project that has some waits for nothing', 'a1 b1', '', ''],
])('an item makes way %s', (_, has, waits, expected) => {
  expect(leaving(has, waits)).toBe(expected)
})

test('an item that got its slot recently keeps it', () => {
  expect(leaving('a1 a2 a3', 'bb', 0)).toBe('a1')
})

test('whatever has slots and waits, repeated exchanges serve every item and share the slots equally', () => {
  let slots = placed(Array.from({ length: 20 }, (_, i) => `a${i}`).join(' '))
  let queue = [
    ...placed(Array.from({ length: 30 }, (_, i) => `a${i + 20}`).join(' ')),
    ...placed(Array.from({ length: 15 }, (_, i) => `b${i}`).join(' ')),
    ...placed('c0 c1'),
  ]
  const served = new Set(slots.map(({ name }) => name))
  const inTurn = () => {
    const seats = new Map<string, number>()
    const seat = (projectId: string) => {
      const next = (seats.get(projectId) ?? 0) + 1
      seats.set(projectId, next)
      return next
    }
    for (const { projectId } of slots) seat(projectId)
    return queue
      .map((item) => ({ item, seat: seat(item.projectId) }))
      .toSorted((a, b) => a.seat - b.seat)
      .map(({ item }) => item)
  }

  for (let pass = 0; pass < 60; pass++) {
    const leaving = makingWay({ placed: slots, waiting: inTurn().slice(0, 4), before: pass + 1_000 })
    slots = slots.filter((item) => !leaving.includes(item))
    queue.push(...leaving)
    const entering = inTurn().slice(0, leaving.length)
    queue = queue.filter((item) => !entering.includes(item))
    slots.push(...entering)
    for (const { name } of entering) served.add(name)
  }

  const countOf = (project: string) => slots.filter(({ projectId }) => projectId === project).length
  expect(served.size).toBe(67)
  expect(['a', 'b', 'c'].map(countOf)).toEqual([9, 9, 2])
})
