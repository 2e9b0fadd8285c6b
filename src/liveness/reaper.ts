import { uuidv7 } from '../core/ids.ts'
import { endAfterLoss, lossError } from '../core/policy/worker-loss.ts'
import type { Clock } from '../runtime/clock.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { Watch } from '../runtime/watch.ts'
import { type Ending, endRuns } from '../store/agenda/outcomes.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { findLostRuns, type LeasedRun, type LostRun, reclaimRuns } from '../store/nodes/leased-runs.ts'
import { buryNodes, declareSilentDead, livingNodes, unburiedNodes } from '../store/nodes/nodes.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { WakeUps } from '../transport/wake-ups.ts'

export interface ReaperOptions {
  readonly nodeId: string
  readonly db: Database
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly log: Logger
  readonly everyMs: number
  /** A node whose heartbeat counter does not change for this long is dead. */
  readonly deadAfterMs: number
  /** Maximum number of runs taken back in one pass; while there are more, the next pass follows at once. */
  readonly batch: number
}

/** Maximum number of nodes that one statement declares dead, and maximum number of them that are logged individually. */
const DECLARED_AT_ONCE = 1_000
const MAX_NAMED = 20

/**
 * Returns runs to the queue if the worker holding them has stopped sending heartbeats. Safe to run on every node at once: a
 * node is declared dead only while its heartbeat counter is the one that was seen, and a run is taken back only while it has
 * the fence that was read, so of two reapers, or of a reaper and a late worker, exactly one succeeds.
 */
export class Reaper extends LoopService {
  readonly #options: ReaperOptions
  readonly #watch: Watch
  /** Runs whose reclaim PostgreSQL rejects. */
  readonly #aside: SetAside<LeasedRun>
  /** Dead nodes with no runs left except such runs: searching for more would read the whole agenda each time. */
  #stuck: ReadonlySet<string> = new Set()

  constructor(options: ReaperOptions) {
    super({ name: 'reaper', everyMs: options.everyMs, log: options.log })
    this.#options = options
    this.#watch = new Watch(options.everyMs * 2)
    const { db, log } = options
    const subjectOf = ({ runId }: LeasedRun) => ({ id: runId, runId })
    this.#aside = new SetAside({ operation: 'reclaim', db, log, subjectOf })
  }

  /** Runs one pass; tests call this instead of waiting for the timer. */
  async runOnce(): Promise<number | undefined> {
    const { db, batch } = this.#options
    await this.#declareTheDead()
    const nodes = (await db.run(unburiedNodes())).map(({ id }) => id)
    const resting = this.#aside.restingIds
    if (nodes.length === 0 || (resting.length > 0 && nodes.every((id) => this.#stuck.has(id))))
      return undefined
    const lost = await db.run(findLostRuns({ nodes, limit: batch, except: resting }))
    if (lost.length > 0) await this.#takeBack(lost)
    if (lost.length === batch) return 0
    const isStuck = this.#aside.restingIds.length > 0
    this.#stuck = new Set(isStuck ? nodes : [])
    if (!isStuck) await db.run(buryNodes(nodes))
    return undefined
  }

  async #declareTheDead(): Promise<void> {
    const { db, log, nodeId, deadAfterMs } = this.#options
    const nodes = await db.run(livingNodes())
    for (const { id, beat } of nodes) this.#watch.see(id, String(beat))
    this.#watch.endPass()
    const silent = nodes.filter(({ id }) => id !== nodeId && this.#watch.quietMs(id) >= deadAfterMs)
    for (let i = 0; i < silent.length; i += DECLARED_AT_ONCE) {
      const dead = await db.run(declareSilentDead(silent.slice(i, i + DECLARED_AT_ONCE)))
      if (dead.length > MAX_NAMED)
        log.warn({ count: dead.length }, 'nodes stopped sending heartbeats and were declared dead')
      else
        for (const { id, name } of dead)
          log.warn(
            { lost: id, name, quietMs: Math.round(this.#watch.quietMs(id)) },
            'a node stopped sending heartbeats and was declared dead',
          )
    }
  }

  async #takeBack(lost: readonly LostRun[]): Promise<void> {
    const { db, wakeUps, log, clock } = this.#options
    const endings = lost.flatMap((run) => endingOf(run, clock.now()) ?? [])
    const ended = new Set(endings.map(({ runId }) => runId))
    const returning = lost.filter(({ runId }) => !ended.has(runId))
    const taken = { reclaimed: 0, ended: 0 }
    if (endings.length > 0)
      await this.#aside.each(endings, async (part) => {
        const [result] = await db.run(endRuns(part as readonly Ending[]))
        taken.ended += result?.ended ?? 0
        if (result?.hasFreedGates) wakeUps.announceReady()
        wakeUps.announceDue(result?.following ?? [])
      })
    if (returning.length > 0)
      await this.#aside.each(returning, async (part) => {
        taken.reclaimed += (await db.run(reclaimRuns(part))).length
      })
    log.info(taken, 'runs of dead workers reclaimed')
    if (taken.reclaimed > 0) wakeUps.announceReady()
  }
}

/** Returns how a lost run ends that must not be tried again; undefined for other runs. */
function endingOf(run: LostRun, now: number): Ending | undefined {
  const base = {
    runId: run.runId,
    fence: run.fence,
    outcome: 'worker_lost',
    startedAt: run.startedAt,
    endedAt: now,
    output: null,
    nextRunId: uuidv7(),
  } as const
  if (run.isCancelled) return { ...base, state: 'cancelled', error: null }
  const reason = endAfterLoss(run)
  if (reason === null) return undefined
  return { ...base, state: 'permanently_failed', error: lossError('silent', reason) }
}
