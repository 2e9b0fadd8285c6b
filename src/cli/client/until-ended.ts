import { setTimeout as pause } from 'node:timers/promises'
import { ProgressLine } from './progress-line.ts'

const ASK_EVERY_MS = 500

/** A server-side operation that runs until it has ended. */
interface Ongoing {
  readonly endedAt: string | null
}

/** Waits for the end of an operation, and shows its progress on standard error. */
export async function untilEnded<T extends Ongoing>(
  begun: T,
  { ask, tell }: { ask: () => Promise<T>; tell: (now: T) => string },
): Promise<T> {
  const line = new ProgressLine()
  let now = begun
  while (now.endedAt === null) {
    line.show(tell(now))
    await pause(ASK_EVERY_MS)
    now = await ask()
  }
  line.end()
  return now
}
