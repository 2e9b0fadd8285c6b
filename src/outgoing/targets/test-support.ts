/** A book whose clock is controlled by tests. */
import type { CallResult, CallResultKind } from './call-result.ts'
import { TargetBook } from './target-book.ts'
import type { TargetLine } from './target-line.ts'

/** Neutralises jitter. */
const MIDDLE = 0.5

export function aBook({ nodes = () => 1 }: { nodes?: () => number } = {}) {
  let now = 1_000_000
  const opened: string[] = []
  const book = new TargetBook({
    nodes,
    now: () => now,
    random: () => MIDDLE,
    onOpen: ({ id }) => opened.push(id),
  })
  /** Advances the clock and runs what is due. */
  const pass = (ms: number) => {
    now += ms
    book.runOnce()
  }
  return { book, opened, pass, now: () => now }
}

/** The end of a call. */
export const ended = (kind: CallResultKind, more: Partial<CallResult> = {}): CallResult => ({
  taskId: 'a',
  kind,
  durationMs: 10,
  ...more,
})

/** A call that begins and ends at once. */
export function call(line: TargetLine, kind: CallResultKind, more: Partial<CallResult> = {}): void {
  line.begin()
  line.end(ended(kind, more))
}
