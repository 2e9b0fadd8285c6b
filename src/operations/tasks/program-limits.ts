import { exceededLimits } from '../../core/action/exec-limits.ts'
import { invalidInput } from '../../core/errors.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import type { Context } from '../context.ts'

/**
 * Refuses what the worker of this node does not allow to programs: limits above its maxima, and the network. A task whose labels send
 * it to other workers is left to those: they lower limits, saying so in the log, and fail attempts that ask for the network.
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
