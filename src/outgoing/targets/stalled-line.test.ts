/** A line that is full of calls which nobody answers, to a target that answers others by now. */
import { expect, test } from 'vitest'
import { STALLED_MS } from './target-line.ts'
import { aBook, ended } from './test-support.ts'

const LIMIT = 128

function aFullLine() {
  const parts = aBook()
  const line = parts.book.line('p', 'https://api.example.com')
  for (let i = 0; i < LIMIT; i++) line.begin()
  return { ...parts, line }
}

test('when nothing has moved for a while one more call may start, and another only after as long again', () => {
  const { line, pass, opened } = aFullLine()
  expect([line.free, line.condition]).toEqual([0, 'full'])

  pass(STALLED_MS)
  expect([line.free, opened]).toEqual([1, [line.id]])
  line.begin()
  expect(line.free).toBe(0)
  pass(STALLED_MS - 1)
  expect(line.free).toBe(0)
  pass(1)
  expect([line.free, opened]).toEqual([1, [line.id, line.id]])
})

test('a target that answers again is called more and more, however many calls to it still hang', () => {
  const { line, pass } = aFullLine()
  pass(STALLED_MS)

  const rooms: number[] = []
  for (let i = 0; i < 4; i++) {
    const { free } = line
    for (let n = 0; n < free; n++) line.begin()
    for (let n = 0; n < free; n++) line.end(ended('answered'))
    rooms.push(line.free)
  }

  expect(rooms).toEqual([1, 2, 8, LIMIT])
  expect(line.underWay).toBe(LIMIT)
})

test('while it does not answer, hanging calls do not add up without end', () => {
  const { line, pass } = aFullLine()

  for (let i = 0; i < 1_000; i++) {
    pass(STALLED_MS)
    if (line.free > 0) line.begin()
  }

  expect(line.underWay).toBe(2 * LIMIT)
})

test('when those that hung have ended, the limit is what it was', () => {
  const { line, pass } = aFullLine()
  pass(STALLED_MS)
  line.begin()
  line.end(ended('answered'))

  for (let i = 0; i < LIMIT; i++) line.end(ended('neutral'))

  expect([line.underWay, line.free]).toEqual([0, LIMIT])
})
