import { maskedAction } from '../../core/action/masked-action.ts'
import type { Queryable } from '../../store/database/database.ts'
import { rewriteVersions } from '../../store/tasks/rewrite-versions.ts'
import { type VersionRow, versionsOf } from '../../store/tasks/task-versions.ts'

/** Number of versions to read at once; a page of them is also bounded in bytes. */
const READ_AT_ONCE = 100

/**
 * Erases the secrets of a task, in all its versions, in the transaction that deletes it: from then on no run of it begins. Runs
 * in progress got their action when they were claimed, and are requested to stop. A worker that reads a large action only now
 * finds masks: no header can contain one, so no request is sent, and Slack has no such address.
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

/** Returns nothing if the version contains no secret. */
function withoutSecrets({ version, definition }: VersionRow) {
  const action = maskedAction(definition.action)
  const isSame = JSON.stringify(action) === JSON.stringify(definition.action)
  return isSame ? [] : [{ version, definition: { ...definition, action } }]
}
