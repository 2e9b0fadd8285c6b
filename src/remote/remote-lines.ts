/**
 * Converts the lines that remote workers send into log entries with secrets redacted. A secret's value may be spread over
 * several lines of one stream and over several requests; it is recognised there and redacted in the last of them.
 */
import { LRUCache } from 'lru-cache'
import type { LogEntry } from '../core/run/log-entry.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { instantMs } from '../core/task/task.ts'
import type { RemoteLine } from '../transport/remote-workers.ts'

/**
 * Maximum number of attempts whose last request ended in what may be the beginning of a secret's value, and how many bytes of
 * it are kept.
 */
const MAX_BEGUN = 10_000
const MAX_BEGUN_BYTES = 16 * 1024 * 1024

/** Lines of an attempt, with how many came before them. */
export interface SentLines {
  readonly runId: string
  readonly fence: number
  readonly first: number
  readonly lines: readonly RemoteLine[]
}

/** The ends of an attempt's streams that may be the beginning of a value, and the number of the next line. */
interface Begun {
  readonly nextLine: number
  readonly ends: ReadonlyMap<LogEntry['stream'], Buffer>
}

/** Makes entries of lines. Lines that were sent to another node before are not known here; see `Redactor.parts`. */
export class RemoteEntries {
  readonly #begun = new LRUCache<string, Begun>({
    max: MAX_BEGUN,
    maxSize: MAX_BEGUN_BYTES,
    sizeCalculation: ({ ends }) => [...ends.values()].reduce((sum, { length }) => sum + length, 1),
  })

  /** Returns one log entry per line. Program output is kept as it is; a log message always ends with a newline. */
  of({ runId, fence, first, lines }: SentLines, redactor: Redactor | undefined): LogEntry[] {
    const entries = lines.map(({ at, level, stream, message }): LogEntry => {
      const isOpen = stream === 'log' && !message.endsWith('\n')
      return { at: instantMs(at), stream, level, text: isOpen ? `${message}\n` : message }
    })
    if (redactor === undefined) return entries
    const key = `${runId}/${fence}`
    const known = this.#begun.get(key)
    const before = first === 0 ? NOTHING_BEGUN : known?.nextLine === first ? known.ends : null
    const { texts, ends } = redacted(entries, redactor, before)
    if (ends.size === 0) this.#begun.delete(key)
    else this.#begun.set(key, { nextLine: first + lines.length, ends })
    return entries.map((entry, i) => ({ ...entry, text: texts[i] ?? '' }))
  }
}

const NOTHING_BEGUN: Begun['ends'] = new Map()

/** `before` is null if the ends of the streams are not known. */
function redacted(entries: readonly LogEntry[], redactor: Redactor, before: Begun['ends'] | null) {
  const texts = entries.map(() => '')
  const ends = new Map(before)
  for (const stream of new Set(entries.map((entry) => entry.stream))) {
    const places = [...entries.keys()].filter((i) => entries[i]?.stream === stream)
    const end = before && (before.get(stream) ?? Buffer.alloc(0))
    const parts = redactor.parts(
      places.map((i) => entries[i]?.text ?? ''),
      end,
    )
    for (const [n, i] of places.entries()) texts[i] = parts.texts[n] ?? ''
    ends.delete(stream)
    if (parts.begun.length > 0) ends.set(stream, Buffer.from(parts.begun))
  }
  return { texts, ends }
}
