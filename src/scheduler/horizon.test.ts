import { expect, test } from 'vitest'
import { Horizon, type Range } from './horizon.ts'

const SHARDS = [0, 1, 2]
const aHorizon = () => new Horizon({ lookAheadMs: 10_000, lookBackMs: 5_000, everythingEveryMs: 30_000 })

/** Reads all that is planned, completely. */
function read(horizon: Horizon, now: number) {
  const ranges = horizon.plan(now, SHARDS, false)
  for (const range of ranges) horizon.settle(range, { isCut: false })
  return ranges
}

test('the first pass reads everything that is overdue and the part ahead', () => {
  const horizon = aHorizon()

  expect(read(horizon, 100_000)).toMatchObject([
    { kind: 'all', shards: SHARDS, from: null, until: 100_000 },
    { kind: 'ahead', shards: SHARDS, from: 100_000, until: 110_000 },
  ])
  expect(horizon.readUntil).toBe(110_000)
})

test('the part ahead counts as read while its read is under way', () => {
  const horizon = aHorizon()

  const [everything, ahead] = horizon.plan(100_000, SHARDS, false) as [Range, Range]
  expect(horizon.readUntil).toBe(110_000)
  horizon.settle(everything, { isCut: false })
  horizon.settle(ahead, { isCut: true })
  expect(horizon.readUntil).toBe(100_000)

  for (const range of horizon.plan(101_000, SHARDS, false)) horizon.giveBack(range)
  expect(horizon.readUntil).toBe(100_000)
})

test('later passes read the last seconds again and only the new part ahead', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)

  expect(read(horizon, 101_000)).toMatchObject([
    { kind: 'back', shards: SHARDS, from: 96_000, until: 101_000 },
    { kind: 'ahead', shards: SHARDS, from: 110_000, until: 111_000 },
  ])
})

test('everything is read again every thirty seconds', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)

  expect(read(horizon, 130_000)[0]).toMatchObject({ kind: 'all', from: null })
})

test('a hint is followed at once, in its shards and for its instants only', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)

  expect(
    horizon.hint(
      [
        { shard: 1, at: 103_000 },
        { shard: 2, at: 104_000 },
      ],
      100_500,
    ),
  ).toBe(true)
  expect(horizon.plan(100_500, SHARDS, false)[0]).toMatchObject({
    kind: 'hinted',
    shards: [1, 2],
    from: 103_000,
    until: 104_001,
  })
  expect(horizon.plan(100_600, SHARDS, false)[0]?.kind).not.toBe('hinted')
})

test('a hint beyond the part ahead is ignored', () => {
  expect(aHorizon().hint([{ shard: 1, at: 200_000 }], 100_000)).toBe(false)
})

test('a hint whose reading failed is followed again', () => {
  const horizon = aHorizon()
  horizon.hint([{ shard: 1, at: 103_000 }], 100_000)
  const [range] = horizon.plan(100_000, SHARDS, false)

  horizon.giveBack(range as Range)

  expect(horizon.plan(100_001, SHARDS, false)[0]).toEqual(range)
})

test('a hint with several instants is followed up to the last one', () => {
  const horizon = aHorizon()
  horizon.hint([{ shard: 1, at: 103_000, until: 105_000 }], 100_000)

  expect(horizon.plan(100_000, SHARDS, false)[0]).toMatchObject({ from: 103_000, until: 105_001 })
})

test('a hinted range that was read only in part is continued by the next look back', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)
  horizon.hint([{ shard: 1, at: 100_100 }], 100_100)
  const [range] = horizon.plan(100_200, SHARDS, false)
  horizon.settle(range as Range, { isCut: true })

  expect(horizon.plan(120_000, SHARDS, false)[0]).toMatchObject({ kind: 'back', from: 100_100 })
})

test('a read that was under way when shards changed does not count for the new ones', () => {
  const horizon = aHorizon()
  const ranges = horizon.plan(100_000, [1], false)
  horizon.reset()
  for (const range of ranges) horizon.settle(range, { isCut: false })

  expect(horizon.plan(100_100, SHARDS, false)).toMatchObject([
    { kind: 'all', from: null },
    { kind: 'ahead', from: 100_100 },
  ])
})

test('with enough rows in memory and a cut read, only hints are followed', () => {
  const horizon = aHorizon()
  for (const range of horizon.plan(100_000, SHARDS, false))
    horizon.settle(range, { isCut: range.kind === 'all' })
  expect(horizon.isCut).toBe(true)

  expect(horizon.plan(100_100, SHARDS, true)).toEqual([])
  horizon.hint([{ shard: 0, at: 100_200 }], 100_100)
  expect(horizon.plan(100_200, SHARDS, true).map(({ kind }) => kind)).toEqual(['hinted'])
  expect(horizon.plan(100_300, SHARDS, false)[0]).toMatchObject({ kind: 'all' })
})

test('with enough late rows in memory the part ahead is still extended before its time', () => {
  const horizon = aHorizon()
  const [everything, ahead] = horizon.plan(100_000, SHARDS, false) as [Range, Range]
  horizon.settle(everything, { isCut: true })
  horizon.settle(ahead, { isCut: false })

  expect(horizon.plan(104_000, SHARDS, true)).toEqual([])
  const [next, ...others] = horizon.plan(106_000, SHARDS, true) as [Range]
  expect(next).toMatchObject({ kind: 'ahead', from: 110_000, until: 116_000 })
  expect(others).toEqual([])

  horizon.settle(next, { isCut: true })
  expect(horizon.plan(112_000, SHARDS, true)).toEqual([])
})

test('a look back that was cut goes on from where it began, however late it gets', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)
  const [back] = horizon.plan(101_000, SHARDS, false)
  horizon.settle(back as Range, { isCut: true })

  expect(horizon.plan(120_000, SHARDS, false)[0]).toMatchObject({ kind: 'back', from: 96_000 })
})

test('a change of shards makes the next pass read everything', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)

  horizon.reset()

  expect(read(horizon, 100_500)[0]).toMatchObject({ kind: 'all' })
})

test('the part ahead skips a crowd at one instant, and the rest of the crowd is read before it is due', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)
  const [back, ahead] = horizon.plan(101_000, SHARDS, false) as [Range, Range]
  horizon.settle(back, { isCut: false })
  horizon.settle(ahead, { isCut: false, passed: { from: 110_499, until: 110_501 } })

  expect(horizon.isCut).toBe(true)
  expect(horizon.readUntil).toBe(111_000)
  expect(horizon.plan(106_500, SHARDS, true)).toMatchObject([
    { kind: 'ahead', from: 111_000, until: 116_500 },
  ])
  const [rest] = horizon.plan(106_600, SHARDS, false) as [Range]
  expect(rest).toMatchObject({ kind: 'passed', from: 110_499, until: 110_501 })
  horizon.settle(rest, { isCut: false })
  expect(horizon.plan(106_700, SHARDS, false).map(({ kind }) => kind)).toEqual(['back', 'ahead'])
})

test('the rest of a crowd that has come due is read with all other late rows', () => {
  const horizon = aHorizon()
  read(horizon, 100_000)
  const [back, ahead] = horizon.plan(101_000, SHARDS, false) as [Range, Range]
  horizon.settle(back, { isCut: false })
  horizon.settle(ahead, { isCut: false, passed: { from: 110_499, until: 110_501 } })

  const [late] = horizon.plan(118_000, SHARDS, false) as [Range]
  horizon.settle(late, { isCut: true })

  expect(late).toMatchObject({ kind: 'back', from: 110_499, until: 118_000 })
  expect(horizon.plan(119_000, SHARDS, false)[0]).toMatchObject({ kind: 'back', from: 110_499 })
})
