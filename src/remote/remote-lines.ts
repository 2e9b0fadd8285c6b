/** Lines that remote workers send, as they are stored: without secrets, and each as an entry of the log. Pure. */
import type { LogEntry } from '../core/run/log-entry.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { instantMs } from '../core/task/task.ts'
import type { RemoteLine } from '../transport/remote-workers.ts'

/** Entries of the log, as many as there are lines. What a program wrote ends where it ends; a message is a line of its own. */
export function entriesOf(lines: readonly RemoteLine[], redactor: Redactor | undefined): LogEntry[] {
  const entries = lines.map(({ at, level, stream, message }): LogEntry => {
    const isOpen = stream === 'log' && !message.endsWith('\n')
    return { at: instantMs(at), stream, level, text: isOpen ? `${message}\n` : message }
  })
  return redactor === undefined ? entries : redacted(entries, redactor)
}

/** A value may be spread over several lines of one stream: it is found there, and told with the last of them. */
function redacted(entries: readonly LogEntry[], redactor: Redactor): LogEntry[] {
  const texts = entries.map(() => '')
  for (const stream of new Set(entries.map((entry) => entry.stream))) {
    const redacting = redactor.stream()
    let last = 0
    for (const [i, entry] of entries.entries()) {
      if (entry.stream !== stream) continue
      texts[i] = `${redacting.push(Buffer.from(entry.text))}${redacting.settle()}`
      last = i
    }
    texts[last] += redacting.end().toString()
  }
  return entries.map((entry, i) => ({ ...entry, text: texts[i] ?? '' }))
}
