/**
 * Watches over one program, whatever it runs in: passes its output on, stops it when its time is up, when it is told to or when it
 * writes too much, and tells how it ended.
 */

import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { EndCause, OutputStream, Program, RunOptions } from './sandbox.ts'

/** The processes of a program. */
export interface Processes {
  /** Asks all of them to end. */
  terminate(): void
  /** Ends all of them. */
  kill(): void
  /** Resolves when none is left that can be found. Never rejects. */
  readonly ended: Promise<Exit>
}

/** How the program itself ended. */
export interface Exit {
  /** As a shell reports it; null if it never started. */
  readonly code: number | null
}

/** What became of it, and who decided that. */
export interface Supervised {
  readonly exit: Exit
  /** Null when it ended by itself. */
  readonly stopped: EndCause | null
}

/** Calls `exceeded` when the program uses too much memory; answers with how to stop watching. */
export type MemoryWatch = (exceeded: () => void) => () => void

/** What to watch over, and how. */
export interface Supervision {
  readonly program: Program
  readonly options: RunOptions
  readonly processes: Processes
  readonly output: Readonly<Record<OutputStream, Socket>>
  readonly watchMemory: MemoryWatch
}

/** A pipe that is silent for so long after the end is held by a process that nobody can find any more. */
const SILENT_MS = 2_000
/** Timers of Node.js overflow beyond this. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Rejects only if the listener of the output does, and then after the program has ended. */
export async function supervise(supervision: Supervision): Promise<Supervised> {
  const { program, options, processes, output, watchMemory } = supervision
  let stopped: EndCause | null = null
  let killing: NodeJS.Timeout | null = null
  const stop = (cause: EndCause, graceMs = program.graceMs) => {
    if (stopped !== null) return
    stopped = cause
    if (graceMs > 0) processes.terminate()
    killing = setTimeout(() => processes.kill(), graceMs)
  }
  const onStop = () => stop('stopped', options.isUrgent?.() ? 0 : program.graceMs)
  options.signal.addEventListener('abort', onStop)
  if (options.signal.aborted) onStop()
  const { timeoutMs } = program
  const overdue =
    timeoutMs === null || timeoutMs > MAX_TIMER_MS ? null : setTimeout(() => stop('timed_out'), timeoutMs)
  const stopWatching = watchMemory(() => stop('memory', 0))
  const budget = new OutputBudget(program.limits.outputBytes, () => stop('output'))
  const readers = (['stdout', 'stderr'] as const).map(
    (stream) =>
      new OutputReader(output[stream], budget, async (chunk) => {
        try {
          await options.onOutput(stream, chunk)
        } catch (error) {
          stop('stopped')
          throw error
        }
      }),
  )
  try {
    const exit = await processes.ended
    const silence = setInterval(() => {
      for (const reader of readers) reader.giveUpIfSilent()
    }, SILENT_MS)
    await Promise.all(readers.map((reader) => reader.done)).finally(() => clearInterval(silence))
    return { exit, stopped }
  } finally {
    options.signal.removeEventListener('abort', onStop)
    stopWatching()
    if (overdue !== null) clearTimeout(overdue)
    if (killing !== null) clearTimeout(killing)
  }
}

/** What both streams together may still write. */
class OutputBudget {
  #left: number
  readonly #onSpent: () => void

  constructor(bytes: number, onSpent: () => void) {
    this.#left = bytes
    this.#onSpent = onSpent
  }

  /** As much of it as is allowed. */
  spend(chunk: Buffer): Buffer {
    const part = chunk.length <= this.#left ? chunk : chunk.subarray(0, this.#left)
    this.#left -= part.length
    if (part.length < chunk.length) this.#onSpent()
    return part
  }
}

/** Reads the next piece only when the last has been dealt with: until then the program waits in front of a full pipe. */
class OutputReader {
  /** When the pipe is closed. */
  readonly done: Promise<void>
  readonly #socket: Socket
  #isDelivering = false
  #heardAt = performance.now()

  constructor(socket: Socket, budget: OutputBudget, deliver: (chunk: Buffer) => Promise<void>) {
    this.#socket = socket
    this.done = this.#read(budget, deliver)
    // It is awaited only when the program has ended.
    this.done.catch(() => undefined)
  }

  giveUpIfSilent(): void {
    if (!this.#isDelivering && performance.now() - this.#heardAt >= SILENT_MS) this.#socket.destroy()
  }

  async #read(budget: OutputBudget, deliver: (chunk: Buffer) => Promise<void>): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()))
    try {
      for await (const chunk of this.#socket as AsyncIterable<Buffer>) {
        const part = budget.spend(chunk)
        this.#isDelivering = true
        if (part.length > 0) await deliver(part)
        this.#isDelivering = false
        this.#heardAt = performance.now()
        if (part.length < chunk.length) break
      }
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'))
        throw error
    } finally {
      this.#socket.destroy()
      await closed
    }
  }
}

/** The exit code of a shell for a process that a signal ended. */
export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** The signal that such an exit code tells of; null for others. */
export function signalOfCode(code: number): NodeJS.Signals | null {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128)
  return (found?.[0] as NodeJS.Signals | undefined) ?? null
}
