import { expect, test } from 'vitest'
import { MAX_WAITING_COUNTED, waitingOf } from './counted.ts'

test('a number of waiting runs is a lower bound once counting has stopped', () => {
  const [below, at] = [MAX_WAITING_COUNTED - 1, MAX_WAITING_COUNTED]

  expect(waitingOf({ waiting: below })).toEqual({ count: below, atLeast: false })
  expect(waitingOf({ waiting: at })).toEqual({ count: at, atLeast: true })
})
