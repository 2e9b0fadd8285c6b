import { exceededLimits } from '../../core/action/exec-limits.ts'
import { invalidInput } from '../../core/errors.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import type { Context } from '../context.ts'

/**
 * Rejects an action that the worker of this node does not allow: limits above its maxima, or the network. A task whose labels
 * select other workers is not checked: those workers lower the limits, and log that, and fail attempts that need the network.
 */
export function refuseProgramLimits(
  { action, labels }: TaskDefinition,
  { programMaxima }: Pick<Context, 'programMaxima'>,
): void {
  if (action.type !== 'exec' || programMaxima === null) return
  if (labels.some((label) => !programMaxima.labels.includes(label))) return
  const problems = exceededLimits(action.limits, programMaxima).map(({ name, asked, most, setting }) => ({
    pointer: `/action/limits/${name}`,
    detail: `is ${asked}, and this server allows at most ${most} (${setting})`,
  }))
  if (action.network === true && !programMaxima.network)
    problems.push({
      pointer: '/action/network',
      detail: 'is true, and this server does not let programs use the network (--exec-network)',
    })
  if (problems.length > 0) throw invalidInput(problems)
}
