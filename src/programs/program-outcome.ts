/** Converts the end of a program to the outcome of its attempt. Pure. */
import type { ExitCodes } from '../core/action/action.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { bytesText } from '../core/values/bytes.ts'
import type { ProgramEnd } from '../sandbox/sandbox.ts'

/** A program that has ended. */
export interface EndedProgram {
  readonly end: ProgramEnd
  readonly exitCodes: ExitCodes | undefined
  /** The memory limit that applied. */
  readonly memoryBytes: number
  readonly outputBytes: number
  readonly output: unknown
  /** The last line written to standard error. */
  readonly lastError: string
}

export function programOutcome(ended: EndedProgram): Outcome {
  const { end, output } = ended
  switch (end.cause) {
    case 'exited':
      return exited(ended)
    case 'memory':
      return failed(
        true,
        'out_of_memory',
        `The program used more than ${bytesText(ended.memoryBytes)} of memory.`,
      )
    case 'output':
      return failed(
        false,
        'too_much_output',
        `The program wrote more than ${bytesText(ended.outputBytes)} of output.`,
      )
    case 'not_executable':
      return failed(false, 'not_executable', end.message ?? 'The file cannot be executed.')
    case 'spawn_failed':
      return failed(true, 'sandbox_unavailable', end.message ?? 'The program could not be started.')
    case 'timed_out':
      return {
        kind: 'timed_out',
        error: { code: 'timed_out', message: end.message ?? 'The program exceeded its timeout.' },
        output,
      }
    case 'stopped':
      return failed(true, 'worker_stopped', 'The program was stopped before it ended.')
  }

  function failed(retryable: boolean, code: string, message: string): Outcome {
    return { kind: 'failed', retryable, error: { code, message, ...detailOf(end) }, output }
  }
}

/** The task's settings for exit codes also apply to the codes with which shells report signals. */
function exited({ end, exitCodes, output, lastError }: EndedProgram): Outcome {
  const { exitCode, signal } = end
  const meaning = meaningOf(exitCode ?? 0, exitCodes)
  if (meaning === 'complete') return { kind: 'completed', output }
  const said = lastError === '' ? '' : `: ${lastError.slice(0, MAX_QUOTED)}`
  const error =
    signal === null
      ? { code: 'exit_code', message: `The program ended with exit code ${exitCode}${said}` }
      : { code: 'killed_by_signal', message: `The program was terminated by ${signal}${said}` }
  return { kind: 'failed', retryable: meaning === 'retry', error: { ...error, ...detailOf(end) }, output }
}

/** Maximum length of the program's last error line in the error message. */
const MAX_QUOTED = 200

const detailOf = ({ exitCode, signal }: ProgramEnd) =>
  exitCode === null ? {} : { detail: { exitCode, ...(signal === null ? {} : { signal }) } }

/** The outcome of an attempt whose program was not started. */
export const failure = (retryable: boolean, code: string, message: string): Outcome => ({
  kind: 'failed',
  retryable,
  error: { code, message },
})

/** Of the exit codes that are not listed, 0 completes the run and all others are retried. */
export function meaningOf(
  code: number,
  { complete, retry, fail }: ExitCodes = {},
): 'complete' | 'retry' | 'fail' {
  if (complete?.includes(code)) return 'complete'
  if (retry?.includes(code)) return 'retry'
  if (fail?.includes(code)) return 'fail'
  return code === 0 ? 'complete' : 'retry'
}
