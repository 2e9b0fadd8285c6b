/**
 * Messages between a worker and a runner: lines of JSON on the runner's standard input and output. The token of the attempt,
 * the address of the program and the ids of the host and of the task are passed in the runner's environment instead, which
 * contains nothing else.
 */
import type { ExecAction } from '../core/action/action.ts'
import type { ProgramSettings } from '../programs/programs.ts'
import type { Report } from '../sdk/attempt.ts'
import type { StopReason } from '../sdk/worker.ts'
import type { GivenProgram } from '../transport/remote-workers.ts'

/** Time for a program to stop if the lease may be lost: it must end before another worker starts the run. */
export const URGENT_MS = 1_500

/** Environment variables of a runner. */
export const VARIABLES = {
  hostId: 'BELFRY_HOST_ID',
  tracingId: 'BELFRY_TRACING_ID',
  attemptToken: 'BELFRY_ATTEMPT_TOKEN',
  /** Address of the program; not set for a command. */
  fileUrl: 'BELFRY_FILE_URL',
} as const

/** The first line: what to run. */
export interface Job {
  readonly servers: readonly string[]
  /** Certificates to trust, in PEM form; null for those of Node.js. */
  readonly ca: string | null
  readonly run: {
    readonly runId: string
    readonly taskId: string
    readonly scheduledFor: string
    readonly attempt: number
    readonly fence: number
    readonly traceparent: string
    readonly tracingId: string | null
  }
  readonly action: ExecAction
  readonly files: GivenProgram['files']
  readonly settings: ProgramSettings
  /** Whether programs run without a sandbox if none works. */
  readonly allowNone: boolean
  /** Folder for temporary data of the program; null for the system's temporary folder. */
  readonly directory: string | null
  /** Maximum size of the log of an attempt. */
  readonly maxLogBytes: number
}

/** Every further line to a runner. */
export type Word =
  /**
   * Until when the attempt certainly belongs to this worker, by `monotonicMs`. Unless renewed, the program must end before
   * then.
   */
  { readonly certainUntil: number } | { readonly stop: StopReason }

/** The last line from a runner. */
export interface Ended {
  readonly end: Omit<Report, 'runId' | 'fence' | 'log'>
}

/** Reads a stream of JSON lines. A line that is not JSON ends the iteration with an error. */
export async function* wordsIn<T>(
  stream: AsyncIterable<Buffer | string>,
): AsyncGenerator<T, void, undefined> {
  const decoder = new TextDecoder()
  let line = ''
  for await (const chunk of stream) {
    line += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true })
    for (let end = line.indexOf('\n'); end >= 0; end = line.indexOf('\n')) {
      yield JSON.parse(line.slice(0, end)) as T
      line = line.slice(end + 1)
    }
  }
}
