/** Handles reports of how attempts ended. A repeated report changes nothing, and gets the same response from any node. */
import { uuidv7 } from '../core/ids.ts'
import { type Judgement, judge } from '../outcomes/judgement.ts'
import { lostEnding, mayBeginAgain } from '../outcomes/lost-attempt.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Queryable } from '../store/database/database.ts'
import { reclaimRuns } from '../store/nodes/leased-runs.ts'
import { givenAt, type LeasedRunRow, storedAmong } from '../store/nodes/remote-runs.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Receipt, RemoteLease, RemoteReport, RemoteWorker } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import { type AwaitedOutcomes, busy } from './awaited-outcomes.ts'
import { leasedAmong, worksOf } from './leased-runs.ts'
import type { RemoteLogs } from './remote-logs.ts'
import { type RemoteSecrets, redactedReport } from './remote-secrets.ts'
import { agrees, isOfHandler, outcomeOf } from './report.ts'
import type { WorkerRegistry } from './worker-registry.ts'

/** The longest that a handler can put off its next attempt: until then the run keeps its slot, and others wait for it. */
const MAX_RETRY_WAIT_MS = 30 * 86_400_000

export interface ReportsOptions {
  readonly db: Queryable
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly clock: Clock
}

interface Parts {
  readonly registry: WorkerRegistry
  readonly secrets: RemoteSecrets
  readonly outcomes: AwaitedOutcomes
  readonly logs: RemoteLogs
}

export class Reports {
  readonly #options: ReportsOptions
  readonly #parts: Parts

  constructor(options: ReportsOptions, parts: Parts) {
    this.#options = options
    this.#parts = parts
  }

  async complete(worker: RemoteWorker, reports: readonly RemoteReport[]): Promise<readonly Receipt[]> {
    const { registry, secrets, outcomes } = this.#parts
    if (outcomes.isFull) throw busy()
    const leased = await leasedAmong(this.#options.db, worker, reports)
    if (leased.size < reports.length) await registry.requireLiving(worker)
    const works = await worksOf(this.#options.definitions, [...leased.values()])
    const redactors = await secrets.redactorsFor(works)
    // Logs are stored first, so that an ended run always has its complete log.
    const logs = reports
      .filter((report) => leased.has(report) && report.log.length > 0)
      .map((report) => ({ ...report, first: report.logFirst, lines: report.log }))
    await this.#parts.logs.store(logs, { redactors, isLast: true })

    const byRun = new Map(works.map((work) => [work.runId, work]))
    const written = new Set<RemoteReport>()
    const lost: (LeasedRunRow & Work)[] = []
    for (const report of leased.keys()) {
      const work = byRun.get(report.runId)
      if (!work || outcomes.has(report.runId)) continue
      written.add(report)
      if (report.outcome === 'lost') lost.push(work)
      else
        outcomes.add(work.runId, this.#judgementOn(redactedReport(report, redactors.get(work.runId)), work))
    }
    await this.#takeBack(lost)
    const { dropped } = outcomes
    await outcomes.untilStored([...byRun.keys()])
    const isCertain = (report: RemoteReport) =>
      written.has(report) && (outcomes.dropped === dropped || report.outcome === 'lost')
    return this.#receiptsFor(worker, { reports, leased, isCertain })
  }

  /** Creates the receipts. If another report came first, or an outcome was dropped meanwhile, the tables show what was recorded. */
  async #receiptsFor(
    worker: RemoteWorker,
    {
      reports,
      leased,
      isCertain,
    }: {
      reports: readonly RemoteReport[]
      leased: ReadonlyMap<RemoteReport, LeasedRunRow>
      isCertain: (report: RemoteReport) => boolean
    },
  ): Promise<readonly Receipt[]> {
    const others = reports.filter((report) => !isCertain(report))
    const stored =
      others.length > 0
        ? await this.#options.db.run(storedAmong({ workerId: worker.id, leases: others }))
        : []
    return reports.map((report) => {
      const isPending = leased.has(report) && this.#parts.outcomes.keeps(report.runId)
      const isStored = stored.filter(isSameAs(report)).some((attempt) => agrees(report, attempt))
      const { runId, fence } = report
      return { runId, fence, isRecorded: !isPending && (isCertain(report) || isStored), isPending }
    })
  }

  #judgementOn(report: RemoteReport, work: LeasedRunRow & Work): Judgement {
    const startedAt = givenAt(work)
    const endedAt = Math.max(startedAt, this.#options.clock.now())
    const judgement = judge(
      { work, outcome: outcomeOf(report, work), startedAt, endedAt },
      Math.random,
      uuidv7,
    )
    const wishedMs = report.retryInMs ?? (report.retryAt === null ? null : report.retryAt - endedAt)
    if (judgement.kind !== 'retry' || wishedMs === null || !isOfHandler(work)) return judgement
    const waitMs = Math.min(Math.max(wishedMs, 0), MAX_RETRY_WAIT_MS)
    return { kind: 'retry', retry: { ...judgement.retry, retryAt: Math.ceil(endedAt + waitMs) } }
  }

  /** Handles attempts that the worker reports as lost: each counts as a loss, as if the worker had died. */
  async #takeBack(lost: readonly (LeasedRunRow & Work)[]): Promise<void> {
    const { db, clock, wakeUps } = this.#options
    const again = lost.filter(mayBeginAgain)
    for (const work of lost)
      if (!mayBeginAgain(work))
        this.#parts.outcomes.add(work.runId, {
          kind: 'end',
          ending: lostEnding(work, { startedAt: givenAt(work), now: clock.now() }),
          isAwaited: true,
        })
    if (again.length === 0) return
    await db.run(reclaimRuns(again.map((work) => ({ ...work, startedAt: givenAt(work) }))))
    wakeUps.announceReady()
  }
}

const isSameAs =
  ({ runId, fence }: RemoteLease) =>
  (other: RemoteLease) =>
    other.runId === runId && other.fence === fence
