/** Puts a task that had lost its next row back on the agenda. */

import { shardOf, uuidv7 } from '../../core/ids.ts'
import type { FindingKind } from '../../core/ledger/finding.ts'
import { misfired } from '../../core/policy/misfire.ts'
import { catchUpLaneOf, laneOf } from '../../core/run/lane.ts'
import { delayMs, jitterOf, MAX_COUNTED } from '../../core/schedule/occurrences.ts'
import { planOf, type TaskDefinition } from '../../core/task/task.ts'
import { inTurns } from '../../runtime/turns.ts'
import { insertCatchUpRuns } from '../../store/agenda/catch-up.ts'
import { lockStalled, type StalledTask, settleTask, withoutNextRow } from '../../store/audit/audit.ts'
import { insertFindings } from '../../store/audit/findings.ts'
import type { Queryable } from '../../store/database/database.ts'
import { historyBeginOf } from '../../store/history/run-search.ts'
import { insertNext, latestOccurrence } from '../../store/tasks/next-row.ts'
import { insertSkip } from '../../store/tasks/skips.ts'
import { type GoOn, remedySteps } from './stalled.ts'

/** What was done about a task that had lost its next row. */
export interface PutBack {
  readonly at: number | null
  readonly missed: number
}

/** Must run in one transaction: locks the task as for an edit, examines it again, and writes its next row. */
export async function putBack(tx: Queryable, taskId: string): Promise<PutBack | null> {
  const [task] = await tx.run(lockStalled(taskId))
  const [still] = task ? await tx.run(withoutNextRow([taskId])) : []
  if (!task || !still) return null
  const [latest] = await tx.run(latestOccurrence(taskId))
  // Asked last: what is deleted from history meanwhile is known to be gone.
  const [begin] = await tx.run(historyBeginOf(task.projectId))
  const ordinal = Math.max(task.nextOrdinal, latest?.nextOrdinal ?? 1)
  const historyFrom = begin?.at ?? Number.NEGATIVE_INFINITY
  const remedy = await inTurns(remedySteps({ ...task, latest: latest?.until ?? null, ordinal, historyFrom }))
  if (remedy.kind === 'settle') {
    await tx.run(settleTask(taskId, ordinal))
    return null
  }
  const found = { id: uuidv7(), projectId: task.projectId, taskId, kind: kindOf(task.definition) }
  if (remedy.kind === 'unknown') {
    await tx.run(settleTask(taskId, ordinal))
    const detail =
      'The task has no next occurrence scheduled, and the history that would show whether it needs one was deleted.'
    await tx.run(insertFindings([{ ...found, runId: null, isRepaired: false, missed: 0, detail }]))
    return { at: null, missed: 0 }
  }
  const runId = await goOn(tx, { task, ordinal, remedy })
  const missed = remedy.lost?.count ?? (remedy.lost ? MAX_COUNTED : 0)
  const detail = detailOf(remedy, task.definition, missed)
  await tx.run(insertFindings([{ ...found, runId, isRepaired: true, missed, detail }]))
  return { at: remedy.catchUp[0]?.wakeAt ?? remedy.at, missed }
}

interface GoingOn {
  readonly task: StalledTask
  readonly ordinal: number
  readonly remedy: GoOn
}

/** Writes the rows that a task continues with; returns the run of its next row. */
async function goOn(
  tx: Queryable,
  { task, ordinal, remedy: { at, catchUp, lost } }: GoingOn,
): Promise<string | null> {
  const { id: taskId, projectId, definition, version } = task
  const shard = shardOf(taskId)
  const lane = laneOf(projectId, definition).id
  const row = { taskId, projectId, shard, version, lane, priority: definition.priority }
  if (lost) {
    const { hasFailed, ...stretch } = lost
    const error = hasFailed ? misfired('lost') : null
    await tx.run(
      insertSkip({
        ...{ runId: uuidv7(), taskId, projectId, version, ordinal, reason: 'lost', error },
        ...stretch,
      }),
    )
  }
  if (catchUp.length > 0)
    await tx.run(
      insertCatchUpRuns({
        ...row,
        ordinal,
        catchUpLane: catchUpLaneOf(lane),
        runs: catchUp.map((one) => ({ runId: uuidv7(), ...one })),
      }),
    )
  if (at === null) return null
  const runId = uuidv7()
  await tx.run(
    insertNext({
      ...row,
      runId,
      at,
      ordinal: ordinal + catchUp.length,
      delayMs: definition.schedule.type === 'delay' ? delayMs(definition.schedule) : null,
      kind: 'occurrence',
      jitterMs: jitterOf(planOf(definition), at) || null,
    }),
  )
  return runId
}

const kindOf = ({ schedule }: TaskDefinition): FindingKind =>
  schedule.type === 'once' ? 'one_off_lost' : 'next_row_lost'

function detailOf(
  { at, catchUp, lost }: GoOn,
  { schedule, misfire }: TaskDefinition,
  missed: number,
): string {
  const { policy } = misfire
  if (schedule.type === 'once')
    return `The one-off task had no row and no recorded run; ${missed > 0 ? 'it is recorded as lost' : 'its row was restored'}. If it had come due, it may have run already.`
  const next = at === null ? 'nothing more is due' : `the next occurrence is at ${new Date(at).toISOString()}`
  const came = catchUp.length + missed
  const words = [
    ...(catchUp.length === 0
      ? []
      : [`${catchUp.length} ${catchUp.length === 1 ? 'runs as a catch-up run' : 'run as catch-up runs'}`]),
    ...(missed === 0 ? [] : [`${missed} recorded as ${lost?.hasFailed ? 'failed' : 'lost'}`]),
  ]
  const meanwhile =
    came === 0
      ? ''
      : `. Occurrences that came due in the meantime: ${words.join(', ')} (misfire policy ${policy})`
  return `The row of the next occurrence was missing; ${next}${meanwhile}.`
}
