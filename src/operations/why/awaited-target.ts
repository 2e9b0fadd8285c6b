/** The target that a task calls, as far as it keeps runs of the task waiting. */
import { callTargetOf } from '../../core/action/call-target.ts'
import { defaultLimitOf } from '../../core/target/target-state.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import type { AwaitedTarget } from '../../core/why/target-causes.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type TargetView, targetIn } from '../targets/targets.ts'

/** The task to explain. */
interface Asked {
  readonly projectId: string
  readonly definition: TaskDefinition
  /** The line that a run of the task waits for; null if none does. */
  readonly line: string | null
}

/** Returns the target of a task. Only workers know the mail server, so it is known here only while a run waits for it. */
export async function awaitedTarget(
  tx: Queryable,
  { projectId, definition, line }: Asked,
): Promise<AwaitedTarget | null> {
  const awaited = line === null || line === 'local' ? null : (line.split(' ')[0] ?? null)
  const target = awaited ?? callTargetOf(definition.action, () => null)
  if (target === null) return null
  const view = asAwaited(await targetIn(tx, projectId, target))
  // A run does not wait for a circuit that its task has opted out of.
  const isOut = view.state === 'circuit_open' && !definition.circuitBreaker
  return { ...view, state: isOut ? 'available' : view.state, isAwaited: awaited !== null }
}

function asAwaited(view: TargetView): Omit<AwaitedTarget, 'isAwaited'> {
  const { joined, applied } = view
  const perNode = applied.limit?.limit ?? defaultLimitOf(view.target)
  return {
    target: view.target,
    state: view.state,
    underWay: joined.underWay,
    limit: view.nodes.length === 0 ? perNode : joined.limit,
    perNode,
    rate: applied.rate?.rate ?? null,
    pausedBy: applied.pause?.pattern ?? null,
    limitedBy: applied.limit?.pattern ?? null,
    ratedBy: applied.rate?.pattern ?? null,
    pausedAt: applied.pause?.pausedAt ?? null,
    pauseReason: applied.pause?.pauseReason ?? null,
    openedAt: joined.circuit?.openedAt ?? view.openedAt,
    until: joined.circuit?.until ?? view.until,
    error: (joined.circuit?.error ?? view.error ?? joined.lastError)?.message ?? null,
  }
}
