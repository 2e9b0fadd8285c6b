import { expect, test } from 'vitest'
import type { DueRow } from '../store/agenda/look-ahead.ts'
import { crowdsIn, fullShards } from './crowds.ts'

const LIMIT = 10
/** Rows of a shard, due at these instants. */
const rowsOf = (shard: number, instants: readonly number[]) =>
  instants.map((wakeAt) => ({ shard, wakeAt }) as DueRow)
const evenly = (count: number) => Array.from({ length: count }, (_, i) => 1_000 + i)
const crowdsAmong = (...shards: readonly DueRow[][]) => crowdsIn(fullShards(shards.flat(), LIMIT))

test('a shard with fewer rows than the limit is not full', () => {
  const rows = [...rowsOf(1, evenly(LIMIT - 1)), ...rowsOf(2, evenly(LIMIT))]

  expect(fullShards(rows, LIMIT)).toMatchObject([{ shard: 2, lastAt: 1_009, atLast: 1 }])
})

test('shards that are full at one instant are a crowd', () => {
  const crowded = [...evenly(4), ...Array(6).fill(2_000)]

  expect(crowdsAmong(rowsOf(1, crowded), rowsOf(2, Array(LIMIT).fill(2_000)), rowsOf(3, [1_000]))).toEqual([
    { at: 2_000, shards: [1, 2] },
  ])
})

test('a full shard whose rows are spread over time prevents a crowd', () => {
  expect(crowdsAmong(rowsOf(1, evenly(LIMIT)), rowsOf(2, Array(LIMIT).fill(2_000)))).toEqual([])
})

test('more than a few instants with crowds count as no crowd', () => {
  const shards = Array.from({ length: 5 }, (_, i) => rowsOf(i, Array(LIMIT).fill(2_000 + i)))

  expect(crowdsAmong(...shards.slice(0, 4))).toHaveLength(4)
  expect(crowdsAmong(...shards)).toEqual([])
})
