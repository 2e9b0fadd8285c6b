/** Edits tasks: applies what the caller gave to the definition as it is. */
import { tokenlessDefinition } from '../../core/secret/slack-address.ts'
import type { TaskDefinition } from '../../core/task/task.ts'
import { isRetiming, type TaskEdit } from '../../core/task/task-input.ts'
import { changesBetween } from '../../core/task/version-diff.ts'
import type { LockedTask } from '../../store/tasks/locked-task.ts'
import type { Context } from '../context.ts'
import { keepTokens, withoutTokens } from '../secrets/slack-tokens.ts'
import { redefineTask } from './define-task.ts'
import type { ExpectedVersion } from './expected-version.ts'
import type { Redefined } from './new-version.ts'
import { redefine } from './redefine-task.ts'

/** A change to a task, the version it was made from, and who makes it. */
export interface Edit {
  readonly id: string
  readonly edit: TaskEdit
  readonly expected: ExpectedVersion
  readonly by: string | null
}

export async function editTask(context: Context, { id, edit: given, expected, by }: Edit): Promise<void> {
  const note = { by, reason: given.reason ?? null, rollbackOf: null }
  const {
    inputs: [edit = given],
    tokens,
  } = await withoutTokens(context, [given])
  await redefine(context, { id, expected, note }, async (task, now, tx) => {
    // Even if nothing else changes: the secret may have been deleted.
    if (tokens.size > 0) await keepTokens(tx, context, tokens)
    const edited = {
      key: edit.key === undefined ? task.key : edit.key,
      name: edit.name === undefined ? task.name : edit.name,
      owner: edit.owner === undefined ? task.owner : edit.owner,
      tags: edit.tags === undefined ? task.tags : [...new Set(edit.tags)],
      definition: redefineTask(task.definition, edit, { now, seed: task.key ?? id }),
    }
    return isSame(task, edited) ? null : { ...edited, isRetimed: isRetiming(edit) }
  })
}

/**
 * Returns whether an edit changes nothing. Deploying the same task again creates no version and skips no occurrence. An address
 * is the same whether its tokens are stored as secrets or not.
 */
function isSame(
  { key, name, owner, tags, ...task }: LockedTask,
  { definition: edited, ...fields }: Omit<Redefined, 'isRetimed'>,
): boolean {
  const definition = tokenless(task.definition)
  return (
    changesBetween({ key, name, owner, tags, definition }, { ...fields, definition: tokenless(edited) })
      .length === 0
  )
}

const tokenless = (definition: TaskDefinition): TaskDefinition =>
  tokenlessDefinition(definition)?.value ?? definition
