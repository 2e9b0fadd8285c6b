import { expect, test } from 'vitest'
import type { Attempt, RunWithAttempts } from '../../api/wire.ts'
import { stretchesOf } from './stretches.ts'

const DUE = Date.parse('2026-11-16T09:00:00.000Z')
const instant = (ms: number) => new Date(DUE + ms).toISOString()

const attempt = (number: number, from: number, to: number, part: Partial<Attempt> = {}): Attempt => ({
  runId: 'r',
  number,
  status: 'failed',
  outcome: 'failed',
  scheduledFor: instant(0),
  startedAt: instant(from),
  endedAt: instant(to),
  workerId: null,
  fence: number,
  output: null,
  error: null,
  ...part,
})

const run = (part: Partial<RunWithAttempts>) =>
  ({
    scheduledFor: instant(0),
    state: 'completed',
    startedAt: null,
    attempt: 1,
    attempts: [],
    ...part,
  }) as RunWithAttempts

const shape = (subject: RunWithAttempts, now = 0) =>
  stretchesOf(subject, DUE + now).map((stretch) => [
    stretch.kind === 'attempt' ? stretch.state : stretch.kind,
    stretch.from - DUE,
    stretch.ms,
  ])

test('a failed run shows its lateness, its attempts and the wait between them', () => {
  const attempts = [attempt(1, 5, 105), attempt(2, 1_105, 1_205, { status: 'permanently_failed' })]

  expect(shape(run({ state: 'permanently_failed', attempts }))).toEqual([
    ['late', 0, 5],
    ['failed', 5, 100],
    ['wait', 105, 1_000],
    ['permanently_failed', 1_105, 100],
  ])
})

test('the length of an attempt in progress increases with time', () => {
  const subject = run({ state: 'running', startedAt: instant(0) })

  expect(shape(subject, 50)).toEqual([['running', 0, 50]])
  expect(shape(subject, 90)).toEqual([['running', 0, 90]])
})

test('the wait for a retry extends to the present', () => {
  expect(shape(run({ state: 'retrying', attempts: [attempt(1, 0, 10)] }), 500)).toEqual([
    ['failed', 0, 10],
    ['wait', 10, 490],
  ])
})

test('an attempt that was lost before it started has no length', () => {
  expect(shape(run({ attempts: [attempt(1, 0, 20, { startedAt: null, outcome: 'worker_lost' })] }))).toEqual([
    ['late', 0, 20],
    ['worker_lost', 20, 0],
  ])
})
