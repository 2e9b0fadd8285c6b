import { expect, test } from 'vitest'
import type { ExitCodes } from '../core/action/action.ts'
import type { ProgramEnd } from '../sandbox/sandbox.ts'
import { meaningOf, programOutcome } from './program-outcome.ts'

const anEnd = (change: Partial<ProgramEnd> = {}): ProgramEnd => ({
  cause: 'exited',
  exitCode: 0,
  signal: null,
  message: null,
  durationMs: 1,
  peakMemoryBytes: null,
  cpuMs: null,
  ...change,
})

const outcomeOf = (change: Partial<ProgramEnd>, exitCodes?: ExitCodes) =>
  programOutcome({
    end: anEnd(change),
    exitCodes,
    memoryBytes: 64 * 1024 ** 2,
    outputBytes: 1024,
    output: 'the output',
    lastError: 'no such table',
  })

test.each([
  [0, undefined, 'complete'],
  [1, undefined, 'retry'],
  [255, undefined, 'retry'],
  [3, { complete: [0, 3] }, 'complete'],
  [0, { complete: [3] }, 'complete'],
  [0, { fail: [0] }, 'fail'],
  [2, { fail: [2] }, 'fail'],
  [0, { retry: [0] }, 'retry'],
] as const)('exit code %j under %j means %s', (code, exitCodes, meaning) => {
  expect(meaningOf(code, exitCodes as ExitCodes | undefined)).toBe(meaning)
})

test('a program that exits with 0 completes with its output', () => {
  expect(outcomeOf({})).toEqual({ kind: 'completed', output: 'the output' })
})

test('an exit code of failure reports the last error line and keeps the output', () => {
  expect(outcomeOf({ exitCode: 2 })).toEqual({
    kind: 'failed',
    retryable: true,
    error: {
      code: 'exit_code',
      message: 'The program ended with exit code 2: no such table',
      detail: { exitCode: 2 },
    },
    output: 'the output',
  })
  expect(outcomeOf({ exitCode: 2 }, { fail: [2] })).toMatchObject({ retryable: false })
})

test.each([
  [{ exitCode: 139, signal: 'SIGSEGV' }, 'killed_by_signal', true],
  [{ cause: 'memory', exitCode: 137, signal: 'SIGKILL' }, 'out_of_memory', true],
  [{ cause: 'output' }, 'too_much_output', false],
  [{ cause: 'not_executable', exitCode: null, message: 'It is an archive.' }, 'not_executable', false],
  [{ cause: 'spawn_failed', exitCode: null, message: 'No space.' }, 'sandbox_unavailable', true],
] as const)('%j is %s', (end, code, retryable) => {
  expect(outcomeOf(end)).toMatchObject({ kind: 'failed', retryable, error: { code } })
})

test('a signal whose exit code the task lists is treated as the task says', () => {
  expect(outcomeOf({ exitCode: 143, signal: 'SIGTERM' }, { complete: [143] })).toMatchObject({
    kind: 'completed',
  })
})
