import pino from 'pino'
import { printable, printableLines } from '../core/values/printable.ts'
import type { LogLevel } from './log-level.ts'

export type Logger = pino.Logger

export interface LoggerOptions {
  readonly level: LogLevel
  /** Readable lines instead of JSON. */
  readonly pretty: boolean
  /** Members on every line, such as the node's id. */
  readonly base?: Readonly<Record<string, unknown>>
  /** File descriptor; standard error by default. */
  readonly destination?: number
}

/**
 * Creates a logger that writes JSON lines to standard error, or readable ones on a terminal. Standard output is reserved for
 * commands.
 */
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
 * Escapes the texts of a JSON line that is printed for people: foreign text, such as the name of a worker, must neither begin a
 * new line nor move the cursor. Stacks keep their lines, which are indented.
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

/** Returns a logger that writes nothing, for services that are used without a process. */
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
