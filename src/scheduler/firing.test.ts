import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import { JUST_RUN } from '../store/agenda/fire.ts'
import { type Decided, followerOf, grouped, type Rooms, withRoom } from './firing.ts'

const definition = aDefinition()

const decided = (runId: string, changes: Partial<Decided['row']> = {}, isPlain = true): Decided => ({
  definition,
  decision: isPlain ? JUST_RUN : { ...JUST_RUN, exclusive: true },
  row: {
    runId,
    taskId: runId,
    shard: 0,
    wakeAt: 0,
    kind: 'occurrence',
    state: 'scheduled',
    scheduledFor: 0,
    version: 1,
    ordinal: 1,
    fence: 0,
    attempt: 0,
    losses: 0,
    lane: 0,
    priority: 0,
    ...changes,
  },
})

const OPEN = 0
const STRICT = 1

/** A worker with room of one line, as it says of itself. */
function aWorker({ free, ahead }: { free: number; ahead: number }): Rooms {
  return {
    worker: {
      serves: (lane) => (lane === OPEN ? 'ahead' : lane === STRICT ? 'free' : undefined),
      reserve: () => ({ free, ahead }),
      release: () => {},
    },
  }
}

const shape = (groups: ReturnType<typeof grouped>) =>
  Object.fromEntries(groups.map(({ how, firings }) => [how, firings.map(({ row }) => row.runId)]))

test('free slots go to the first due rows, and room ahead only to lanes that may wait in a worker', () => {
  const due = [
    decided('a'),
    decided('strict', { lane: STRICT }),
    decided('b'),
    decided('elsewhere', { lane: 7 }),
  ]

  const startNow = (free: number, ahead: number) =>
    withRoom(due, aWorker({ free, ahead }))
      .filter((firing) => firing.startNow)
      .map(({ row }) => row.runId)

  expect(startNow(1, 0)).toEqual(['a'])
  expect(startNow(1, 9)).toEqual(['a', 'b'])
  expect(startNow(9, 0)).toEqual(['a', 'strict', 'b'])
})

test('rows that simply run are grouped apart from rows that need a decision', () => {
  const due = [decided('a'), decided('recurring', {}, false), decided('b', { lane: STRICT })]

  expect(shape(grouped(withRoom(due, aWorker({ free: 1, ahead: 1 }))))).toEqual({
    start: ['a'],
    each: ['recurring'],
    queue: ['b'],
  })
})

test('rows that start here and have a plain successor go together, all other decisions one by one', () => {
  const next = { runId: 'next', at: 1 }
  const recurring = (runId: string, changes: Partial<Decided['decision']> = {}, lane = OPEN): Decided => ({
    ...decided(runId, { lane }),
    decision: { ...JUST_RUN, exclusive: true, next, ...changes },
  })
  const due = [
    recurring('a'),
    recurring('b'),
    recurring('last', { isLast: true }),
    recurring('missed', { runFor: 5 }),
    recurring('elsewhere', {}, 7),
    decided('one-off'),
  ]

  expect(shape(grouped(withRoom(due, aWorker({ free: 9, ahead: 0 }))))).toEqual({
    start: ['one-off'],
    recurring: ['a', 'b'],
    each: ['last', 'missed', 'elsewhere'],
  })
})

test('rows that must wait go in one statement, so that the due order is kept', () => {
  const due = [decided('one-off'), decided('recurring', {}, false), decided('later one-off')]

  expect(shape(grouped(withRoom(due, aWorker({ free: 0, ahead: 0 }))))).toEqual({
    each: ['one-off', 'recurring', 'later one-off'],
  })
})

test('the next row counts only occurrences that ran', () => {
  const { row } = decided('a', { ordinal: 4, priority: 3 })

  expect(followerOf(row, { runId: 'b', at: 9 }, 1)).toMatchObject({
    runId: 'b',
    wakeAt: 9,
    ordinal: 5,
    priority: 3,
  })
  expect(followerOf(row, { runId: 'b', at: 9 }, 0)).toMatchObject({
    ordinal: 4,
    fence: 0,
    state: 'scheduled',
  })
})
