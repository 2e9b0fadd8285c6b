import { expect, test } from 'vitest'
import { idRange, isUuid, SHARD_COUNT, shardOf, uuidTime, uuidv7 } from './ids.ts'

test('ids sort in the order they were made, also thousands in one millisecond', () => {
  const now = Date.now()
  const ids = Array.from({ length: 10_000 }, () => uuidv7(now))

  expect([...ids].sort()).toEqual(ids)
  expect(new Set(ids).size).toBe(ids.length)
})

test('an id is a version 7 UUID that tells when it was made', () => {
  const now = Date.now() + 60_000
  const id = uuidv7(now)

  expect(isUuid(id)).toBe(true)
  expect(id[14]).toBe('7')
  expect('89ab').toContain(id[19])
  expect(uuidTime(id)).toBe(now)
})

test('a clock that goes backwards does not make ids go backwards', () => {
  const first = uuidv7(2_000_000_000_000)
  const second = uuidv7(1_000_000_000_000)

  expect(second > first).toBe(true)
})

test('tasks spread evenly over the shards', () => {
  const counts = new Array<number>(SHARD_COUNT).fill(0)
  for (let i = 0; i < 64_000; i++) {
    const shard = shardOf(uuidv7())
    counts[shard] = (counts[shard] ?? 0) + 1
  }

  expect(Math.min(...counts)).toBeGreaterThan(800)
  expect(Math.max(...counts)).toBeLessThan(1200)
})

test('the beginning of an id stands for the range of all ids that begin so', () => {
  expect(idRange('01A1E128-d4')).toEqual({
    least: '01a1e128-d400-0000-0000-000000000000',
    greatest: '01a1e128-d4ff-ffff-ffff-ffffffffffff',
  })
  const id = uuidv7()
  expect(idRange(id)).toEqual({ least: id, greatest: id })
  expect(idRange(id.replaceAll('-', ''))).toEqual({ least: id, greatest: id })
})
