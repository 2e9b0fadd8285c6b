import { uuidv7 } from '../../core/ids.ts'
import type { FindingKind } from '../../core/ledger/finding.ts'
import { type Finding, insertFindings } from '../../store/audit/findings.ts'
import {
  ALL_SHARDS,
  type ShardPosition,
  type StrandedRow,
  strandedRows,
  unburyNodes,
} from '../../store/audit/stranded-rows.ts'
import type { Database } from '../../store/database/database.ts'
import { SetAside } from '../../store/database/set-aside.ts'
import type { Logger } from '../../telemetry/logger.ts'
import type { Putting } from '../../transport/transport.ts'
import type { WakeUps } from '../../transport/wake-ups.ts'

/** A live row that has been overdue for this long is examined. */
const STRANDED_AFTER_MS = 60_000
const STRANDED_PER_SHARD = 50

export interface StrandedRowsOptions {
  readonly db: Database
  readonly transport: Putting
  readonly wakeUps: WakeUps
  readonly log: Logger
}

/** Finds rows that were due long ago and that no component will handle, and hands them to the component responsible. */
export class StrandedRows {
  readonly #options: StrandedRowsOptions
  readonly #aside: SetAside<StrandedRow>
  #positions: readonly ShardPosition[] = ALL_SHARDS

  constructor(options: StrandedRowsOptions) {
    this.#options = options
    const { db, log } = options
    const subjectOf = ({ runId, taskId }: StrandedRow) => ({ id: runId, runId, taskId })
    this.#aside = new SetAside({ operation: 'audit', db, log, subjectOf })
  }

  async runOnce(): Promise<void> {
    const { db, log, wakeUps } = this.#options
    const [look] = await db.run(
      strandedRows({
        positions: this.#positions,
        olderThanMs: STRANDED_AFTER_MS,
        maxPerShard: STRANDED_PER_SHARD,
      }),
    )
    const { rows = [], positions = [] } = look ?? {}
    this.#positions = ALL_SHARDS.map(({ shard }) => {
      const full = positions.find((position) => position.shard === shard)
      return { shard, from: full?.from ?? null }
    })
    const pending = rows.filter((row) => row.state === 'pending' && !this.#aside.isResting(row))
    const running = rows.filter(({ state }) => state === 'running')
    const requeued = await this.#requeue(pending)
    const nodes = [...new Set(running.flatMap(({ workerId }) => workerId ?? []))]
    const unburied = new Set(nodes.length === 0 ? [] : (await db.run(unburyNodes(nodes))).map(({ id }) => id))
    const findings = [
      ...requeued
        .filter(({ wasRefused }) => !wasRefused)
        .map((row) => finding(row, 'ready_row_lost', 'The run was waiting, but no worker could find it.')),
      ...running
        .filter(({ workerId }) => workerId !== null && unburied.has(workerId))
        .map((row) =>
          finding(
            row,
            'held_by_dead_node',
            'The run was assigned to a dead node that is no longer recorded.',
          ),
        ),
    ]
    if (requeued.length > 0) wakeUps.announceReady()
    if (findings.length === 0) return
    await db.run(insertFindings(findings))
    log.warn({ runs: findings.map(({ runId }) => runId) }, 'stranded runs were found')
  }

  /** Puts runs into `ready` again. A run that was removed because it cannot be claimed is not a finding: it is tried once more. */
  async #requeue(
    pending: readonly StrandedRow[],
  ): Promise<readonly (StrandedRow & { wasRefused: boolean })[]> {
    if (pending.length === 0) return []
    const queued = new Map<string, boolean>()
    await this.#aside.each(pending, async (part) => {
      const runIds = part.map(({ runId }) => runId)
      for (const { runId, wasRefused } of await this.#options.transport.put(runIds))
        queued.set(runId, wasRefused)
    })
    return pending.flatMap((row) => {
      const wasRefused = queued.get(row.runId)
      return wasRefused === undefined ? [] : { ...row, wasRefused }
    })
  }
}

const finding = (row: StrandedRow, kind: FindingKind, detail: string): Finding => ({
  id: uuidv7(),
  projectId: row.projectId,
  taskId: row.taskId,
  runId: row.runId,
  kind,
  isRepaired: true,
  missed: 0,
  detail,
})
