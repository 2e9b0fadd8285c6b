import { shardOf, uuidv7 } from '../core/ids.ts'
import { laneOf } from '../core/lane.ts'
import { delayMs, jitterOf } from '../core/schedule/occurrences.ts'
import { planOf } from '../core/task.ts'
import * as audit from '../store/audit.ts'
import type { Queryable } from '../store/database.ts'
import { insertNext, insertSkip, latestOccurrence } from '../store/task-changes.ts'
import { type Remedy, remedyFor } from './stalled.ts'

/** What was done about a task that had lost its next row. */
export interface PutBack {
  readonly at: number | null
  readonly missed: number
}

/** In one transaction: the task is locked as for an edit, looked at again, and given the row it goes on with. */
export async function putBack(tx: Queryable, taskId: string): Promise<PutBack | null> {
  const [task] = await tx.run(audit.lockStalled(taskId))
  const [still] = task ? await tx.run(audit.withoutNextRow([taskId])) : []
  if (!task || !still) return null
  const [latest] = await tx.run(latestOccurrence(taskId))
  const ordinal = Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
  const remedy = remedyFor({ ...task, latest: latest?.until ?? null, ordinal })
  if (remedy.kind === 'settle') {
    await tx.run(audit.settleTask(taskId))
    return null
  }
  const { projectId } = task
  const runId = uuidv7()
  if (remedy.kind === 'unknown') {
    await tx.run(audit.settleTask(taskId))
  } else {
    const { definition, version } = task
    const { lost, at } = remedy
    if (lost)
      await tx.run(
        insertSkip({ runId: uuidv7(), taskId, projectId, version, ordinal, reason: 'lost', ...lost }),
      )
    if (at !== null)
      await tx.run(
        insertNext({
          runId,
          taskId,
          projectId,
          shard: shardOf(taskId),
          at,
          version,
          ordinal,
          delayMs: definition.schedule.type === 'delay' ? delayMs(definition.schedule) : null,
          lane: laneOf(projectId, definition).id,
          priority: definition.priority,
          kind: 'occurrence',
          jitterMs: jitterOf(planOf(definition), at) || null,
        }),
      )
  }
  const missed = remedy.kind === 'go_on' ? (remedy.lost?.count ?? (remedy.lost ? MAX_MISSED_TOLD : 0)) : 0
  await tx.run(
    audit.insertFindings([
      {
        id: uuidv7(),
        projectId,
        taskId,
        runId: remedy.kind === 'go_on' && remedy.at !== null ? runId : null,
        kind: 'next_row_lost',
        isRepaired: remedy.kind === 'go_on',
        missed,
        detail: detailOf(remedy, missed),
      },
    ]),
  )
  return { at: remedy.kind === 'go_on' ? remedy.at : null, missed }
}

/** What is told when the occurrences that were missed were too many to count. */
const MAX_MISSED_TOLD = 10_000

function detailOf(remedy: Remedy, missed: number): string {
  if (remedy.kind !== 'go_on')
    return 'The task has no next row, and whether it owes one was told by history that has been dropped.'
  const next =
    remedy.at === null ? 'nothing more is due' : `it goes on at ${new Date(remedy.at).toISOString()}`
  const lost = missed === 0 ? '' : `, and ${missed} occurrences were recorded as lost`
  return `The row that the task goes on with was gone; ${next}${lost}.`
}
