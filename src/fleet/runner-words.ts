/**
 * What a worker and a runner say to each other: lines of JSON, through the runner's standard input and output. The token of the attempt, the
 * address of the program and the ids of the host and of the task come in the runner's environment instead, which holds nothing else.
 */
import type { ExecAction } from '../core/action/action.ts'
import type { ProgramSettings } from '../programs/programs.ts'
import type { Report } from '../sdk/attempt.ts'
import type { StopReason } from '../sdk/worker.ts'
import type { GivenProgram } from '../transport/remote-workers.ts'

/** A program that must stop because the lease may be lost has so long: everything has ended before somebody else begins. */
export const URGENT_MS = 1_500

/** The variables of a runner. */
export const VARIABLES = {
  hostId: 'BELFRY_HOST_ID',
  tracingId: 'BELFRY_TRACING_ID',
  attemptToken: 'BELFRY_ATTEMPT_TOKEN',
  /** Where the program is downloaded from; not set for a command. */
  fileUrl: 'BELFRY_FILE_URL',
} as const

/** The first line: what to run. */
export interface Job {
  readonly servers: readonly string[]
  /** Certificates to trust, in PEM form. */
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
  /** Whether programs run without a sandbox where there is none. */
  readonly allowNone: boolean
  /** Where to keep what the program needs while it runs; null for the system's folder for temporary files. */
  readonly directory: string | null
  /** What is kept of the log of an attempt. */
  readonly maxLogBytes: number
}

/** Every further line to a runner. */
export type Word =
  /** Until then, by `monotonicMs`, the attempt is this worker's for sure; without a further word the program must end before. */
  { readonly certainUntil: number } | { readonly stop: StopReason }

/** The last line from a runner. */
export interface Ended {
  readonly end: Omit<Report, 'runId' | 'fence' | 'log'>
}

/** Reads lines from a stream, each as JSON. A line that is none ends the reading. */
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
