/** What a program may use on this worker: what its task asks for, within what the worker allows. */
import type { ExecLimits } from '../core/action/action.ts'
import { askedLimits, exceededLimits, type LimitValues } from '../core/action/exec-limits.ts'
import type { ProgramLimits } from '../sandbox/sandbox.ts'

/** What the operator of the worker allows. */
export interface LimitSettings {
  /** Of tasks that say nothing. */
  readonly defaults: LimitValues
  readonly maxima: LimitValues
  readonly outputBytes: number
}

/** Of each process: enough for servers of tests and package managers, and nothing a task needs to choose. */
const OPEN_FILES = 1_024

export function limitsOf(
  limits: ExecLimits | undefined,
  { defaults, maxima, outputBytes }: LimitSettings,
): ProgramLimits {
  const asked = askedLimits(limits)
  const within = (name: keyof LimitValues) => Math.min(asked[name] ?? defaults[name], maxima[name])
  return {
    memoryBytes: within('memoryBytes'),
    cpus: within('cpus'),
    processes: within('processes'),
    fileBytes: within('fileBytes'),
    openFiles: OPEN_FILES,
    outputBytes,
  }
}

/** What the log of an attempt says about limits that this worker lowers; null where it lowers none. */
export function loweredNote(limits: ExecLimits | undefined, { maxima }: LimitSettings): string | null {
  const lowered = exceededLimits(limits, maxima).map(
    ({ name, asked, most, setting }) => `${name} ${asked} to ${most} (${setting})`,
  )
  return lowered.length === 0 ? null : `This worker lowers limits of the task: ${lowered.join(', ')}.`
}
