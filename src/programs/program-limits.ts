/** Resource limits of a program: the limits of its task, up to the maxima of this worker. */
import type { ExecLimits } from '../core/action/action.ts'
import { askedLimits, exceededLimits, type LimitValues } from '../core/action/exec-limits.ts'
import type { ProgramLimits } from '../sandbox/sandbox.ts'

/** Limits configured by the operator of the worker. */
export interface LimitSettings {
  /** For tasks that set no limits. */
  readonly defaults: LimitValues
  readonly maxima: LimitValues
  readonly outputBytes: number
}

/** Maximum number of open files per process: enough for test servers and package managers, so tasks cannot configure it. */
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

/** Returns a line for the log of an attempt about limits that this worker lowers; null if it lowers none. */
export function loweredNote(limits: ExecLimits | undefined, { maxima }: LimitSettings): string | null {
  const lowered = exceededLimits(limits, maxima).map(
    ({ name, asked, most, setting }) => `${name} ${asked} to ${most} (${setting})`,
  )
  return lowered.length === 0 ? null : `This worker lowers limits of the task: ${lowered.join(', ')}.`
}
