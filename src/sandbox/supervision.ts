/**
 * Supervises one program in any kind of sandbox: forwards its output, stops it on timeout, on request or for too much output,
 * and returns how it ended.
 */

import type { Socket } from 'node:net'
import { constants } from 'node:os'
import type { EndCause, OutputStream, Program, RunOptions } from './sandbox.ts'

/** The processes of a program. */
export interface Processes {
  /** Asks all processes to end. */
  terminate(): void
  /** Kills all processes. */
  kill(): void
  /** Resolves when no detectable process is left. Never rejects. */
  readonly ended: Promise<Exit>
}

/** Exit status of the program itself. */
export interface Exit {
  /** Exit code as a shell reports it; null if the program never started. */
  readonly code: number | null
}

/** How a program ended, and whether it was stopped. */
export interface Supervised {
  readonly exit: Exit
  /** Why the program was stopped; null if it ended by itself. */
  readonly stopped: EndCause | null
}

/** Calls `exceeded` if the program uses too much memory. Returns a function that stops watching. */
export type MemoryWatch = (exceeded: () => void) => () => void

/** Inputs of the supervision. */
export interface Supervision {
  readonly program: Program
  readonly options: RunOptions
  readonly processes: Processes
  readonly output: Readonly<Record<OutputStream, Socket>>
  readonly watchMemory: MemoryWatch
}

/** A pipe that is silent for this long after the end of the program is kept open by a process that can no longer be found. */
const SILENT_MS = 2_000
/** Timers of Node.js overflow beyond this. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Rejects only if `onOutput` does, and only after the program has ended. */
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

/** Number of bytes that both streams together can still write. */
class OutputBudget {
  #left: number
  readonly #onSpent: () => void

  constructor(bytes: number, onSpent: () => void) {
    this.#left = bytes
    this.#onSpent = onSpent
  }

  /** Returns the part of the chunk that is within the budget. */
  spend(chunk: Buffer): Buffer {
    const part = chunk.length <= this.#left ? chunk : chunk.subarray(0, this.#left)
    this.#left -= part.length
    if (part.length < chunk.length) this.#onSpent()
    return part
  }
}

/** Reads the next chunk only after the previous one was processed: until then, a full pipe blocks the program. */
class OutputReader {
  /** Resolves when the pipe is closed. */
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

/** Returns the exit code that a shell reports for a process ended by a signal. */
export const codeOfSignal = (signal: NodeJS.Signals): number => 128 + constants.signals[signal]

/** Returns the signal for such an exit code; null for other codes. */
export function signalOfCode(code: number): NodeJS.Signals | null {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128)
  return (found?.[0] as NodeJS.Signals | undefined) ?? null
}
