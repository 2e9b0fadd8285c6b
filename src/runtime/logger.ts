import pino from 'pino'
import type { LogLevel } from './config.ts'

export type Logger = pino.Logger

export interface LoggerOptions {
  readonly level: LogLevel
  /** Lines for people instead of JSON for machines. */
  readonly pretty: boolean
  /** Members on every line, such as the node's id. */
  readonly base?: Readonly<Record<string, unknown>>
}

/** JSON lines on standard error, or readable ones on a terminal. Standard output belongs to the command. */
export async function createLogger({ level, pretty, base = {} }: LoggerOptions): Promise<Logger> {
  const options: pino.LoggerOptions = {
    level,
    base: { ...base },
    timestamp: pino.stdTimeFunctions.isoTime,
    serializers: { err: describeError },
    redact: ['req.headers.authorization', 'password', '*.password', 'connectionString'],
  }
  if (!pretty) return pino(options, pino.destination({ dest: 2, sync: false }))
  const { default: prettify } = await import('pino-pretty')
  return pino(
    options,
    prettify({
      destination: 2,
      ignore: 'pid,hostname,node',
      translateTime: 'SYS:HH:MM:ss.l',
      singleLine: true,
      sync: true,
    }),
  )
}

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
