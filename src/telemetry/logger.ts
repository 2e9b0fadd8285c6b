import pino from 'pino'
import { printable, printableLines } from '../core/values/printable.ts'
import type { LogLevel } from './log-level.ts'

export type Logger = pino.Logger

export interface LoggerOptions {
  readonly level: LogLevel
  /** Lines for people instead of JSON for machines. */
  readonly pretty: boolean
  /** Members on every line, such as the node's id. */
  readonly base?: Readonly<Record<string, unknown>>
  /** A descriptor other than that of standard error. */
  readonly destination?: number
}

/** JSON lines on standard error, or readable ones on a terminal. Standard output belongs to the command. */
export async function createLogger({
  level,
  pretty,
  base = {},
  destination = 2,
}: LoggerOptions): Promise<Logger> {
  const options: pino.LoggerOptions = {
    level,
    base: { ...base },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: ['req.headers.authorization', 'password', '*.password', 'connectionString'],
  }
  if (!pretty) return pino(options, pino.destination({ dest: destination, sync: false }))
  const { default: prettify } = await import('pino-pretty')
  const lines = prettify({
    destination,
    ignore: 'pid,hostname,node',
    translateTime: 'SYS:HH:MM:ss.l',
    singleLine: true,
    sync: true,
  })
  return pino(options, { write: (line) => void lines.write(harmlessLine(line)) })
}

/**
 * A line of JSON whose texts do nothing but be read once they are printed: somebody else's text, such as the name of a
 * worker, must neither begin a line of its own nor move the cursor. Stacks keep their lines, which are indented.
 */
function harmlessLine(line: string): string {
  const revived = JSON.parse(line, (key, value) => {
    if (typeof value === 'string') return key === 'stack' ? printableLines(value) : printable(value)
    return isPlain(value) ? withHarmlessKeys(value) : value
  })
  return `${JSON.stringify(revived)}\n`
}

const isPlain = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const withHarmlessKeys = (value: object) =>
  Object.fromEntries(Object.entries(value).map(([key, member]) => [printable(key), member]))

/** A logger that says nothing, for parts used without a process around them. */
export function silentLogger(): Logger {
  return pino({ level: 'silent' })
}

function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code } = error as { code?: unknown }
  const described: Record<string, unknown> = { type: error.name, message: error.message, stack: error.stack }
  if (code !== undefined) described['code'] = code
  if (error.cause !== undefined) described['cause'] = describeError(error.cause)
  return described
}
