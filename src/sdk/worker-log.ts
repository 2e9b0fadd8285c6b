/** The worker's own log: messages about itself and its handlers. */
import { inspect } from 'node:util'
import { RetryAt } from './handler-errors.ts'

/** Details of a line, for structured logs. */
export interface LogDetails {
  /** The thrown value. */
  readonly error?: unknown
  readonly handler?: string
  readonly runId?: string
  readonly taskId?: string
  /** Number of the attempt; the first is 1. */
  readonly attempt?: number
}

/** Receives a line of the worker's own log. */
export type WorkerLog = (level: 'info' | 'warn' | 'error', message: string, details?: LogDetails) => void

/**
 * Foreign text must not contain control characters that move the cursor or begin a new line, except for line breaks in stack
 * traces.
 */
const CONTROL = /\p{Cc}/gu
const CONTROL_BUT_LINES = /[^\P{Cc}\n]/gu

/** Default log, on standard error. An error is printed with its stack and its causes. */
export const sayOnStderr: WorkerLog = (level, message, { error } = {}) => {
  const shown = level === 'error' && error instanceof Error ? inspect(error) : ''
  // The first line is already part of the message.
  const rest = message.endsWith(inShort(error)) ? shown.slice(shown.indexOf('\n')) : `\n${shown}`
  const line = `belfry worker: ${level === 'info' ? '' : `${level}: `}${message.replaceAll(CONTROL, ' ')}`
  process.stderr.write(`${line}${shown && rest.replaceAll(CONTROL_BUT_LINES, ' ')}\n`)
}

/** The run in whose handler an error was thrown. */
interface FailedRun {
  readonly handler: string
  readonly runId: string
  readonly taskId: string
  readonly attempt: number
}

/** Returns the log line for an error thrown by a handler. A requested retry is only a warning. */
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
