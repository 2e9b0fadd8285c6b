/** Rolls a task back to an earlier version: an edit that restores the definition of that version. */

import { invalidInput, Refusal } from '../../core/errors.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { timingOf } from '../../core/task/task-input.ts'
import type { Queryable } from '../../store/database/database.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import { type VersionRow, versionsOf } from '../../store/tasks/task-versions.ts'
import type { Context } from '../context.ts'
import { withinBounds } from './define-task.ts'
import type { ExpectedVersion } from './expected-version.ts'
import { redefine } from './redefine-task.ts'

/** Which version to restore, and who does it. */
export interface Rollback {
  readonly id: string
  readonly version: number
  readonly expected: ExpectedVersion
  readonly by: string | null
  readonly reason: string | null
}

export async function rollbackTask(context: Context, rollback: Rollback): Promise<void> {
  const { id, version, expected, by, reason } = rollback
  const note = { by, reason, rollbackOf: version }
  try {
    await redefine(context, { id, expected, note }, async (task, now, tx) => {
      const { key, name, owner, tags, definition } = await earlier(tx, task, version)
      const isRetimed = timing(definition) !== timing(task.definition)
      return { key, name, owner, tags, definition: withinBounds(definition, now), isRetimed }
    })
  } catch (error) {
    throw error instanceof Refusal ? atVersion(version, error) : error
  }
}

async function earlier(tx: Queryable, task: LockedTask, version: number): Promise<VersionRow> {
  if (version === task.version) throw invalid('is the current version of the task')
  const [row] = await tx.run(versionsOf({ taskId: task.id, before: version + 1, limit: 1 }))
  if (row?.version === version) return row
  throw invalid(`does not exist; the task has versions 1 to ${task.version}`)
}

/** Returns what determines when the task is due, as text to compare. */
function timing(definition: TaskDefinition): string {
  const { anchorAt, seed } = definition
  return JSON.stringify([...timingOf(definition), anchorAt, seed])
}

/** Reports what has become impossible since then at `/version`, the only field of the request. */
function atVersion(version: number, refusal: Refusal): Refusal {
  const [problem] = refusal.problems
  if (refusal.code !== 'invalid_input' || problem === undefined || problem.pointer === '/version')
    return refusal
  return invalid(`is ${version}, which cannot be restored: its ${problem.pointer.slice(1)} ${problem.detail}`)
}

const invalid = (detail: string) => invalidInput([{ pointer: '/version', detail }])
