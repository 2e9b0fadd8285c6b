import type { FindingKind } from '../core/finding.ts'
import { uuidv7 } from '../core/ids.ts'
import type { Logger } from '../runtime/logger.ts'
import * as audit from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

/** A live row that has been due for this long is looked at. */
const STRANDED_AFTER_MS = 60_000
const STRANDED_PER_SHARD = 50

export interface StrandedRowsOptions {
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly log: Logger
}

/** Hands rows that were due long ago and that nobody will look at to those whose work they are. */
export class StrandedRows {
  readonly #options: StrandedRowsOptions
  #positions: readonly audit.ShardPosition[] = audit.ALL_SHARDS

  constructor(options: StrandedRowsOptions) {
    this.#options = options
  }

  async runOnce(): Promise<void> {
    const { db, log, wakeUps } = this.#options
    const [look] = await db.run(
      audit.strandedRows({
        positions: this.#positions,
        olderThanMs: STRANDED_AFTER_MS,
        maxPerShard: STRANDED_PER_SHARD,
      }),
    )
    const { rows = [], positions = [] } = look ?? {}
    this.#positions = audit.ALL_SHARDS.map(({ shard }) => {
      const full = positions.find((position) => position.shard === shard)
      return { shard, from: full?.from ?? null }
    })
    const pending = rows.filter(({ state }) => state === 'pending')
    const running = rows.filter(({ state }) => state === 'running')
    const queued =
      pending.length === 0 ? [] : await db.run(audit.requeueStranded(pending.map(({ runId }) => runId)))
    const ids = new Set(queued.map(({ runId }) => runId))
    const requeued = pending.filter(({ runId }) => ids.has(runId))
    const nodes = [...new Set(running.flatMap(({ workerId }) => workerId ?? []))]
    const unburied = new Set(
      nodes.length === 0 ? [] : (await db.run(audit.unburyNodes(nodes))).map(({ id }) => id),
    )
    const findings = [
      ...requeued.map((row) =>
        finding(row, 'ready_row_lost', 'The run waited for a worker where none would find it.'),
      ),
      ...running
        .filter(({ workerId }) => workerId !== null && unburied.has(workerId))
        .map((row) =>
          finding(row, 'held_by_the_dead', 'The run was in the name of a node that is dead and forgotten.'),
        ),
    ]
    if (findings.length === 0) return
    await db.run(audit.insertFindings(findings))
    log.warn({ runs: findings.map(({ runId }) => runId) }, 'runs that nobody would have looked at were found')
    if (requeued.length > 0) wakeUps.announceReady()
  }
}

const finding = (row: audit.StrandedRow, kind: FindingKind, detail: string): audit.Finding => ({
  id: uuidv7(),
  projectId: row.projectId,
  taskId: row.taskId,
  runId: row.runId,
  kind,
  isRepaired: true,
  missed: 0,
  detail,
})
