import { expect, test } from 'vitest'
import type { Queue } from '../../api/wire.ts'
import { waitingWords } from '../../components/count-words.ts'
import { drainWords, runningWords, stateOf } from './queue-words.ts'

const queue = {
  name: 'mail',
  isPaused: false,
  running: null,
  concurrencyLimit: null,
  rate: null,
  waiting: 3,
} as Queue

test('a paused queue is shown as paused even if it is full, and a queue without a limit as open', () => {
  expect(stateOf(queue).text).toBe('open')
  expect(stateOf({ ...queue, concurrencyLimit: 4, running: 3 }).text).toBe('open')
  expect(stateOf({ ...queue, concurrencyLimit: 4, running: 4 }).text).toBe('full')
  expect(stateOf({ ...queue, concurrencyLimit: 4, running: 4, isPaused: true }).text).toBe('paused')
  expect(runningWords({ ...queue, concurrencyLimit: 4, running: 3 })).toBe('3 / 4')
  expect(waitingWords({ waiting: 10_000 })).toMatch(/^10\s000\+$/)
})

test('the time until a queue is empty follows from its rate', () => {
  expect(drainWords({ ...queue, rate: '1/s', waiting: 90 })).toMatch(/^about 1\sm 30\ss at this rate$/)
  expect(drainWords({ ...queue, rate: '100/s', waiting: 10_000 })).toMatch(
    /^more than 1\sm 40\ss at this rate$/,
  )
  expect(drainWords({ ...queue, rate: '1/s', isPaused: true })).toBeNull()
  expect(drainWords(queue)).toBeNull()
})
