/** What a program may use on this worker: what its task asks for, within what the worker allows. */
import type { ExecLimits } from '../core/action/action.ts'
import { bytesOf } from '../core/values/bytes.ts'
import type { ProgramLimits } from '../sandbox/sandbox.ts'

/** What a task can choose. */
export interface Chosen {
  readonly memoryBytes: number
  readonly cpus: number
  readonly processes: number
  readonly fileBytes: number
}

/** What the operator of the worker allows. */
export interface LimitSettings {
  /** Of tasks that say nothing. */
  readonly defaults: Chosen
  readonly maxima: Chosen
  readonly outputBytes: number
}

/** Of each process: enough for servers of tests and package managers, and nothing a task needs to choose. */
const OPEN_FILES = 1_024

export function limitsOf(
  { memory, cpus, processes, fileSize }: ExecLimits = {},
  { defaults, maxima, outputBytes }: LimitSettings,
): ProgramLimits {
  const within = (asked: number | undefined, name: keyof Chosen) =>
    Math.min(asked ?? defaults[name], maxima[name])
  return {
    memoryBytes: within(memory === undefined ? undefined : bytesOf(memory), 'memoryBytes'),
    cpus: within(cpus, 'cpus'),
    processes: within(processes, 'processes'),
    fileBytes: within(fileSize === undefined ? undefined : bytesOf(fileSize), 'fileBytes'),
    openFiles: OPEN_FILES,
    outputBytes,
  }
}
