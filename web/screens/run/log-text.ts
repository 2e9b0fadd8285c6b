/** Formats the log of a handler as text. */
import { memberOf } from '../../../src/core/words/outcome.ts'
import { formatClock } from '../../../src/core/words/time.ts'

export interface LogLine {
  readonly at: string
  readonly level: string
  readonly message: string
}

/** The log lines in an output; null if the output is not that of a handler that logged. */
export function logLines(output: unknown): readonly LogLine[] | null {
  const log = memberOf(output, 'log')
  return Array.isArray(log) && log.every(isLine) ? log : null
}

const isLine = (line: unknown): line is LogLine =>
  ['at', 'level', 'message'].every((name) => typeof memberOf(line, name) === 'string')

/** `09:00:00.120  warn  message`; further lines of a message are indented. */
export function logText(lines: readonly LogLine[], zone: string): string {
  return lines
    .map(({ at, level, message }) => {
      const head = `${formatClock(Date.parse(at), zone)}  ${level.padEnd(5)}  `
      return head + message.replaceAll('\n', `\n${' '.repeat(head.length)}`)
    })
    .join('\n')
}
