import type { Obstacle } from './executable.ts'
import type { LauncherWords } from './launcher-words.ts'
import type { EndCause, Program, ProgramEnd } from './sandbox.ts'
import { type Supervised, signalOfCode } from './supervision.ts'

/** Resources that a program used, and whether the kernel killed one of its processes for exceeding the memory limit. */
export interface Counted {
  readonly outOfMemory: boolean
  readonly peakMemoryBytes: number | null
  readonly cpuMs: number | null
}

export const NOT_COUNTED: Counted = { outOfMemory: false, peakMemoryBytes: null, cpuMs: null }

/** A program that did not start. */
export const notStarted = ({ cause, message }: Obstacle): ProgramEnd => ({
  ...{ cause, message, exitCode: null, signal: null, durationMs: 0, peakMemoryBytes: null, cpuMs: null },
})

/** Returns the end of a program whose launcher was started. */
export function programEnd(
  { limits, timeoutMs }: Program,
  { exit, stopped }: Supervised,
  { outOfMemory, ...used }: Counted,
  words: LauncherWords,
  durationMs: number,
): ProgramEnd {
  if (stopped === null) {
    const complaint = exit.code === null ? (words.complaint ?? NEVER_STARTED) : words.complaintOf(exit.code)
    if (complaint !== null)
      return { ...notStarted({ cause: 'spawn_failed', message: complaint }), durationMs }
  }
  // If one of its processes was killed for lack of memory but the program still exits with 0, it handled the failure itself.
  const cause = stopped ?? (outOfMemory && exit.code !== 0 ? 'memory' : 'exited')
  const signal = exit.code === null ? null : signalOfCode(exit.code)
  return { cause, message: message(cause), exitCode: exit.code, signal, durationMs, ...used }

  function message(why: EndCause): string | null {
    switch (why) {
      case 'timed_out':
        return `The program ran longer than ${timeoutMs} ms.`
      case 'memory':
        return `The program used more than ${limits.memoryBytes} bytes of memory.`
      case 'output':
        return `The program wrote more than ${limits.outputBytes} bytes of output.`
      case 'stopped':
        return 'The program was stopped.'
      default:
        return null
    }
  }
}

const NEVER_STARTED = 'The program could not be started.'
