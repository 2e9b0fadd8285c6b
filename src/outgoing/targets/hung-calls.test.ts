/** A line that is full of calls which nobody answers, to a target that answers others by now. */
import { expect, test } from 'vitest'
import { LEAST_SILENCE_MS } from './hung-calls.ts'
import type { TargetLine } from './target-line.ts'
import { aBook, ended } from './test-support.ts'

const TARGET = 'https://api.example.com'
const LIMIT = 128

/** A line with a number of calls in progress. */
function aLine(calls = LIMIT, limit: number | null = null) {
  const parts = aBook()
  parts.book.configure([{ projectId: 'p', pattern: TARGET, limit, rate: null, burst: null, isPaused: false }])
  const line = parts.book.line('p', TARGET)
  for (let i = 0; i < calls; i++) line.begin()
  return { ...parts, line }
}

/** Uses all the room there is; how much it was. */
function callAll(line: TargetLine): number {
  const { free } = line
  for (let i = 0; i < free; i++) line.begin()
  for (let i = 0; i < free; i++) line.end(ended('answered'))
  return free
}

test('after a long time without a response one more call may start, and the next after twice that time', () => {
  const { line, pass, opened } = aLine()
  expect([line.free, line.condition]).toEqual([0, 'full'])

  pass(LEAST_SILENCE_MS)
  expect([line.free, opened]).toEqual([1, [line.id]])
  line.begin()
  expect(line.free).toBe(0)
  pass(2 * LEAST_SILENCE_MS - 1)
  expect(line.free).toBe(0)
  pass(1)
  expect([line.free, opened]).toEqual([1, [line.id, line.id]])
})

test('a target that responds again gets more and more calls, however many still hang', () => {
  const { line, pass } = aLine()
  pass(LEAST_SILENCE_MS)

  const rooms = Array.from({ length: 6 }, () => callAll(line))

  expect(rooms).toEqual([1, 4, 8, 16, 32, 64])
  expect(line.underWay).toBe(LIMIT)
})

test('hung calls that finally time out neither shrink the limit nor open the circuit', () => {
  const { line, pass, book } = aLine()
  pass(LEAST_SILENCE_MS)
  for (let i = 0; i < 100; i++) callAll(line)
  pass(600_000)
  for (let i = 0; i < LIMIT; i++) line.end(ended('timed_out', { durationMs: 600_000 + LEAST_SILENCE_MS }))

  expect([line.underWay, line.free]).toEqual([0, LIMIT])
  expect(book.report()[0]).toMatchObject({ circuit: null, limit: LIMIT })
})

test('hanging calls to a silent target do not accumulate', () => {
  const { line, pass } = aLine()

  for (let i = 0; i < 20 * 60; i++) {
    pass(1_000)
    if (line.free > 0) line.begin()
  }

  expect(line.underWay - LIMIT).toBeLessThanOrEqual(7)
})

test('beside hanging calls at most as many others are under way at once', () => {
  const { line, pass } = aLine()
  pass(LEAST_SILENCE_MS)
  for (let i = 0; i < 100; i++) callAll(line)

  while (line.free > 0) line.begin()
  expect(line.underWay).toBe(2 * LIMIT)
  pass(3_600_000)
  expect(line.free).toBe(0)
})

test('a limit that the project has set is never exceeded', () => {
  const { line, pass } = aLine(50, 50)

  pass(3_600_000)

  expect([line.free, line.condition]).toEqual([0, 'full'])
})

test('one more call tests the target below the limit of the project, even if failures shrank the limit', () => {
  const { line, pass, book } = aLine(40, 50)
  line.begin()
  line.end(ended('unreachable', { durationMs: 0 }))
  expect([book.report()[0]?.limit, line.free]).toEqual([35, 0])

  pass(LEAST_SILENCE_MS)
  expect(callAll(line)).toBe(1)

  expect(line.free).toBe(4)
})

test('when a probe is answered, calls from before the circuit opened take no room', () => {
  const { line, pass } = aLine(100)
  for (let i = 0; i < 5; i++) {
    line.begin()
    line.end(ended('unreachable', { taskId: `${i}`, durationMs: 0 }))
  }
  expect(line.condition).toBe('circuit')

  pass(5_000)
  expect(callAll(line)).toBe(1)

  expect([line.underWay, line.free]).toEqual([100, 4])
})

test('a target that is always slow gets an extra call only after a much longer time', () => {
  const { line, pass } = aLine(1)
  for (let i = 0; i < 20; i++) {
    pass(40_000)
    line.end(ended('answered', { durationMs: 40_000 }))
    line.begin()
  }
  while (line.free > 0) line.begin()

  pass(80_000)
  expect(line.free).toBe(0)
  pass(220_000)
  expect(line.free).toBe(1)
})
