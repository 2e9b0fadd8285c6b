import { expect, test } from 'vitest'
import { aDefinition } from '../../test/support/agenda.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { TaskDefinition } from '../core/task/task.ts'
import type { Work } from '../transport/transport.ts'
import { judge } from './judgement.ts'

const failed: Outcome = { kind: 'failed', retryable: true, error: { code: 'x', message: 'x' } }

function judgementOn(outcome: Outcome, work: Partial<Work> = {}, definition: Partial<TaskDefinition> = {}) {
  const attempt = {
    work: {
      runId: 'run',
      taskId: 'task',
      version: 1,
      scheduledFor: 0,
      wakeAt: 0,
      fence: 4,
      attempt: 1,
      losses: 0,
      definition: aDefinition(definition),
      ...work,
    },
    outcome,
    startedAt: 1_000,
    endedAt: 2_000,
  }
  return judge(
    attempt,
    () => 0.5,
    () => 'next',
  )
}

test('a completed attempt ends its run as completed, with the fence of its claim', () => {
  expect(judgementOn({ kind: 'completed', output: 'ok' })).toEqual({
    kind: 'end',
    isAwaited: false,
    ending: {
      runId: 'run',
      fence: 4,
      state: 'completed',
      outcome: 'completed',
      startedAt: 1_000,
      endedAt: 2_000,
      output: 'ok',
      error: null,
      nextRunId: null,
    },
  })
})

test('an end is awaited if the next occurrence is near, a slot is in use, or the schedule is a delay', () => {
  const isAwaited = (definition: Partial<TaskDefinition>, work: Partial<Work> = {}) =>
    judgementOn({ kind: 'completed', output: null }, work, definition)
  const every = (interval: string) => ({ schedule: { type: 'every', interval } }) as const

  expect(isAwaited(every('20ms'))).toMatchObject({ isAwaited: true })
  expect(isAwaited(every('1s'))).toMatchObject({ isAwaited: false })
  expect(isAwaited({}, { holdsPlace: true })).toMatchObject({ isAwaited: true })
  expect(isAwaited({ schedule: { type: 'delay', interval: '1h' } })).toMatchObject({ isAwaited: true })
})

test('a failed attempt is retried after a delay from the upper half of a doubling backoff', () => {
  expect(judgementOn(failed, { attempt: 1 })).toMatchObject({ kind: 'retry', retry: { retryAt: 2_750 } })
  expect(judgementOn(failed, { attempt: 2 })).toMatchObject({ kind: 'retry', retry: { retryAt: 3_500 } })
  expect(judgementOn(failed, { attempt: 3 })).toMatchObject({ kind: 'retry', retry: { retryAt: 5_000 } })
})

test('after the last retry the run has failed permanently', () => {
  expect(judgementOn(failed, { attempt: 4 })).toMatchObject({
    kind: 'end',
    ending: { state: 'permanently_failed', outcome: 'failed' },
  })
})

test('losses use up no retries', () => {
  expect(judgementOn(failed, { attempt: 5, losses: 2 })).toMatchObject({ kind: 'retry' })
  expect(judgementOn(failed, { attempt: 6, losses: 2 })).toMatchObject({ kind: 'end' })
})

test('losses use up retries where the task counts them', () => {
  const counting = { onWorkerLoss: 'count' } as const

  expect(judgementOn(failed, { attempt: 3, losses: 2 }, counting)).toMatchObject({ kind: 'retry' })
  expect(judgementOn(failed, { attempt: 4, losses: 2 }, counting)).toMatchObject({ kind: 'end' })
})

test('a failure that is not retryable ends the run', () => {
  expect(judgementOn({ ...failed, retryable: false })).toMatchObject({
    kind: 'end',
    ending: { state: 'permanently_failed' },
  })
})

test('the retry waits as long as the receiver asks', () => {
  expect(judgementOn({ ...failed, retryAfterMs: 60_000 })).toMatchObject({
    kind: 'retry',
    retry: { retryAt: 62_000 },
  })
})

test('a run that timed out is retried like a failure', () => {
  const timedOut: Outcome = { kind: 'timed_out', error: { code: 'timed_out', message: 'x' } }

  expect(judgementOn(timedOut)).toMatchObject({ kind: 'retry', retry: { outcome: 'timed_out' } })
  expect(judgementOn(timedOut, { attempt: 4 })).toMatchObject({
    kind: 'end',
    ending: { outcome: 'timed_out' },
  })
})

test('an attempt that lost its lease changes nothing', () => {
  expect(judgementOn({ kind: 'lease_lost' })).toEqual({ kind: 'nothing' })
})

test('the end of a run of a delay schedule contains the id of the next run', () => {
  expect(
    judgementOn({ kind: 'completed', output: null }, {}, { schedule: { type: 'delay', interval: '1s' } }),
  ).toMatchObject({ ending: { nextRunId: 'next' } })
})
