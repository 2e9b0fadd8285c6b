/** What a worker says about itself and its handlers, and where. */
import { inspect } from 'node:util'
import { RetryAt } from './handler-errors.ts'

/** What a line is about, for logs that keep more than words. */
export interface LogDetails {
  /** What was thrown. */
  readonly error?: unknown
  readonly handler?: string
  readonly runId?: string
  readonly taskId?: string
  /** 1 for the first. */
  readonly attempt?: number
}

/** Receives a line of the worker's own log. */
export type WorkerLog = (level: 'info' | 'warn' | 'error', message: string, details?: LogDetails) => void

/** What others have written must not move the cursor, nor begin a line of its own outside of a stack. */
const CONTROL = /\p{Cc}/gu
const CONTROL_BUT_LINES = /[^\P{Cc}\n]/gu

/** Where people look first. An error is shown with its stack and its causes. */
export const sayOnStderr: WorkerLog = (level, message, { error } = {}) => {
  const shown = level === 'error' && error instanceof Error ? inspect(error) : ''
  // Its first line is told already.
  const rest = message.endsWith(inShort(error)) ? shown.slice(shown.indexOf('\n')) : `\n${shown}`
  const line = `belfry worker: ${level === 'info' ? '' : `${level}: `}${message.replaceAll(CONTROL, ' ')}`
  process.stderr.write(`${line}${shown && rest.replaceAll(CONTROL_BUT_LINES, ' ')}\n`)
}

/** A run in whose handler something was thrown. */
interface FailedRun {
  readonly handler: string
  readonly runId: string
  readonly taskId: string
  readonly attempt: number
}

/** The log line for an error that a handler has thrown. A requested retry is only a warning. */
export function wordsFor(error: unknown, run: FailedRun): Parameters<WorkerLog> {
  const { handler, runId, taskId, attempt } = run
  const isWish = error instanceof RetryAt
  const message = `handler '${handler}' ${isWish ? 'requested a retry' : 'failed'} in run ${runId}, attempt ${attempt}: ${inShort(error)}`
  return [isWish ? 'warn' : 'error', message, { error, handler, runId, taskId, attempt }]
}

function inShort(error: unknown): string {
  if (error instanceof Error) return `${error.name}: ${error.message}`
  try {
    return String(error)
  } catch {
    return `${typeof error} that cannot be shown`
  }
}
