/** Formats the log of a run as text. */
import { formatClock } from '../../../src/core/words/time.ts'
import type { LogLine } from '../../api/wire.ts'

/** `09:00:00.120  stderr  message`. Parts of one line are joined, and with several attempts each one gets a heading. */
export function runLogText(lines: readonly LogLine[], zone: string): string {
  const rows: string[] = []
  const hasSeveral = new Set(lines.map(({ attempt }) => attempt)).size > 1
  let before: LogLine | undefined
  for (const line of lines) {
    if (hasSeveral && line.attempt !== before?.attempt) rows.push(`Attempt ${line.attempt}`)
    const continues = before?.isPartial && before.stream === line.stream && before.attempt === line.attempt
    if (continues) rows[rows.length - 1] += line.text
    else rows.push(rowOf(line, zone))
    before = line
  }
  return rows.join('\n')
}

function rowOf({ at, stream, level, text }: LogLine, zone: string): string {
  const head = `${formatClock(Date.parse(at), zone)}  ${(level ?? stream).padEnd(6)}  `
  return head + text.replaceAll('\n', `\n${' '.repeat(head.length)}`)
}
