import { laneOf } from '../../core/run/lane.ts'
import { tokenlessDefinition } from '../../core/secret/slack-address.ts'
import { withDeadlockRetry } from '../../store/database/retry-on-deadlock.ts'
import { replaceSecretUses } from '../../store/secrets/uses.ts'
import { holdTask, moveToLane, plainVersions } from '../../store/tasks/plain-addresses.ts'
import { rewriteVersions } from '../../store/tasks/rewrite-versions.ts'
import type { Context } from '../context.ts'
import { keepTokens } from '../secrets/slack-tokens.ts'

/** Number of versions that are rewritten together; the others follow in the next call. */
const VERSIONS_AT_ONCE = 20

/**
 * Stores the tokens of a task's Slack addresses as secrets, for versions that contain them in clear. This creates no version:
 * the task does the same as before, and nodes that have read a version before call the same address. Future occurrences move to
 * the lane of nodes with the key. An occurrence that the scheduler has read already keeps its lane, and so do those that follow
 * it; by now every node has the key.
 */
export async function sealAddresses(context: Context, taskId: string): Promise<number> {
  const { db, projectId, lanes } = context
  let noteLane = () => {}
  const count = await withDeadlockRetry(db, async (tx) => {
    await tx.run(holdTask(taskId))
    const plain = await tx.run(plainVersions(taskId, VERSIONS_AT_ONCE))
    const sealed = plain.flatMap(({ version, isCurrent, definition }) => {
      const found = tokenlessDefinition(definition)
      return found ? [{ version, isCurrent, definition: found.value, tokens: found.tokens }] : []
    })
    if (sealed.length === 0) return 0
    await keepTokens(tx, context, new Map(sealed.flatMap(({ tokens }) => [...tokens])))
    await tx.run(rewriteVersions(taskId, sealed))
    const current = sealed.find(({ isCurrent }) => isCurrent)?.definition
    if (current) {
      await tx.run(replaceSecretUses(projectId, { taskId, names: current.secrets ?? [] }))
      const lane = laneOf(projectId, current)
      noteLane = await lanes.ensureWithin(tx, [lane])
      await tx.run(moveToLane(taskId, lane.id))
    }
    return sealed.length
  })
  noteLane()
  return count
}
