import { exceededLimits } from '../../core/action/exec-limits.ts'
import { invalidInput } from '../../core/errors.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import type { Context } from '../context.ts'

/**
 * Refuses limits of a program above the maxima of the worker of this node. A task whose labels send it to other workers is left to
 * those: they lower what they do not allow, and say so in the log.
 */
export function refuseProgramLimits(
  { action, labels }: TaskDefinition,
  { programMaxima }: Pick<Context, 'programMaxima'>,
): void {
  if (action.type !== 'exec' || action.limits === undefined || programMaxima === null) return
  if (labels.some((label) => !programMaxima.labels.includes(label))) return
  const problems = exceededLimits(action.limits, programMaxima).map(({ name, asked, most, setting }) => ({
    pointer: `/action/limits/${name}`,
    detail: `is ${asked}, and this server allows at most ${most} (${setting})`,
  }))
  if (problems.length > 0) throw invalidInput(problems)
}
