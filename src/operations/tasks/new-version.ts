/** Stores the new version of a task, if the caller may make it. */
import { fileIdsOf } from '../../core/action/action-files.ts'
import type { Queryable } from '../../store/database/database.ts'
import { replaceFileUses } from '../../store/files/uses.ts'
import { replaceSecretUses } from '../../store/secrets/uses.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { type RedefinedTask, replaceDefinition } from '../../store/tasks/redefinition.ts'
import { type EditNote, insertEdit } from '../../store/tasks/task-versions.ts'
import { requireQueueOf } from '../access/require.ts'
import { recordChange, taskSubject } from '../audit-log/record-change.ts'
import type { Context } from '../context.ts'
import { admitEdit, limitsStorage } from '../limits/admit-tasks.ts'
import { keepLimits, type limitsOf } from '../limits/task-limits.ts'
import { refuseProgramLimits } from './program-limits.ts'

/** The new state of a task. */
export interface Redefined extends Omit<RedefinedTask, 'id'> {
  /** Whether the edit may change when the task is due, and not only what it does. */
  readonly isRetimed: boolean
}

/** An edit in its transaction. */
export interface Redefining {
  readonly context: Context
  /** The task before the edit. */
  readonly task: LockedTask
  readonly redefined: Redefined
  readonly now: number
  /** What the task then waits for, in words; null if its files are there. */
  readonly wait: string | null
}

/** Refuses an edit that the caller may not make or that exceeds a limit. */
export async function admitVersion(
  tx: Queryable,
  { context, task, redefined, now }: Redefining,
  limits: Awaited<ReturnType<typeof limitsOf>>,
): Promise<void> {
  const { definition, isRetimed } = redefined
  requireQueueOf(context, definition)
  keepLimits(definition, limits, { now, isRetimed })
  // A stored action is not checked again: the operator may have lowered the maxima since.
  if (definition.action !== task.definition.action) refuseProgramLimits(definition, context)
  if (limitsStorage(limits.project))
    await admitEdit(tx, context, limits.project, {
      id: task.id,
      before: task.definition,
      after: definition,
    })
}

/** What the database returns for a version it has stored. */
export interface Stored {
  readonly version: number
  readonly updatedAt: number
}

/** Stores the new version, what it refers to, and who made it. */
export async function storeVersion(
  tx: Queryable,
  { context, task, redefined, now }: Redefining,
  note: EditNote,
): Promise<Stored> {
  const { projectId } = context
  const { id } = task
  const { definition } = redefined
  const [replaced] = await tx.run(replaceDefinition({ id, ...redefined }, now))
  await tx.run(insertEdit(id, note))
  if (task.definition.secrets || definition.secrets)
    await tx.run(replaceSecretUses(projectId, { taskId: id, names: definition.secrets ?? [] }))
  const { version, updatedAt } = replaced as Stored
  const fileIds = fileIdsOf(definition.action)
  if (fileIds.length + fileIdsOf(task.definition.action).length > 0)
    await tx.run(replaceFileUses(projectId, { taskId: id, fileIds, version }))
  await recordChange(tx, context, {
    action: note.rollbackOf === null ? 'task.edit' : 'task.rollback',
    subject: taskSubject({ id, ...redefined }),
    before: { version: task.version },
    after: { version },
    reason: note.reason,
  })
  return { version, updatedAt }
}
