import { maskedAction } from '../../core/action/masked-action.ts'
import type { Queryable } from '../../store/database/database.ts'
import { rewriteVersions } from '../../store/tasks/rewrite-versions.ts'
import { type VersionRow, versionsOf } from '../../store/tasks/task-versions.ts'

/** Versions that are read at once; a page of them is bounded in bytes too. */
const READ_AT_ONCE = 100

/**
 * Erases the secrets of a task, in all its versions, in the transaction that deletes it: from then on no run of it begins.
 * Runs in progress were given their action when they were claimed, and are told to stop. Where a worker reads a large
 * action only now, it finds masks: no header can carry one, so no request goes out, and Slack knows no such address.
 */
export async function eraseSecrets(tx: Queryable, taskId: string): Promise<void> {
  for (let before: number | null = null; ; ) {
    const rows: VersionRow[] = await tx.run(versionsOf({ taskId, before, limit: READ_AT_ONCE }))
    const last = rows.at(-1)
    if (last === undefined) return
    const erased = rows.flatMap(withoutSecrets)
    if (erased.length > 0) await tx.run(rewriteVersions(taskId, erased))
    before = last.version
  }
}

/** Nothing where the version holds no secret. */
function withoutSecrets({ version, definition }: VersionRow) {
  const action = maskedAction(definition.action)
  const isSame = JSON.stringify(action) === JSON.stringify(definition.action)
  return isSame ? [] : [{ version, definition: { ...definition, action } }]
}
