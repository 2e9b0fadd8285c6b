import type { Database } from '../store/database/database.ts'
import { heldProjectGates, lockProjectGate, recountProjectGate } from '../store/queues/project-gates.ts'
import type { Logger } from '../telemetry/logger.ts'

/**
 * Recounts the slots in use of projects that limit their runs. A node of a release that does not know these limits ends runs
 * without releasing their slots, and would eventually block the project.
 */
export async function recountProjectGates({ db, log }: { db: Database; log: Logger }): Promise<void> {
  for (const { projectId } of await db.run(heldProjectGates())) {
    const wrong = await db.transaction(async (tx) => {
      await tx.run(lockProjectGate(projectId))
      return tx.run(recountProjectGate(projectId))
    })
    if (wrong.length > 0) log.warn({ projectId }, 'corrected the count of runs in progress of a project')
  }
}
