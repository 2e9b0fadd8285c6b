/** What a task calls, as far as it keeps the task waiting. */
import { callTargetOf } from '../../core/action/call-target.ts'
import { defaultLimitOf } from '../../core/target/target-state.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import type { AwaitedTarget } from '../../core/why/target-causes.ts'
import type { Queryable } from '../../store/database/database.ts'
import { type TargetView, targetIn } from '../targets/targets.ts'

/** What is asked about. */
interface Asked {
  readonly projectId: string
  readonly definition: TaskDefinition
  /** What a run of it waits for beside its lane; null when none does. */
  readonly line: string | null
}

/** The target of a mail is known to workers only, so it is known here while a run waits for it. */
export async function awaitedTarget(
  tx: Queryable,
  { projectId, definition, line }: Asked,
): Promise<AwaitedTarget | null> {
  const awaited = line === null || line === 'local' ? null : (line.split(' ')[0] ?? null)
  const target = awaited ?? callTargetOf(definition.action, () => null)
  if (target === null) return null
  const view = asAwaited(await targetIn(tx, projectId, target))
  // Nothing waits for a circuit that its task opted out of.
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
