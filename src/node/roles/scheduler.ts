/** The scheduler role: shard leases, firing what comes due, and backfills. */
import { endPauseOnTime } from '../../operations/tasks/pause-task.ts'
import { skipOnTime } from '../../operations/tasks/skip-next.ts'
import type { Service } from '../../runtime/service.ts'
import { Backfiller } from '../../scheduler/backfiller.ts'
import { BlackoutBook } from '../../scheduler/blackout-book.ts'
import { Scheduler } from '../../scheduler/scheduler.ts'
import { ShardLeases } from '../../scheduler/shard-leases.ts'
import type { LocalWorker } from '../../transport/local-worker.ts'
import type { Foundations } from '../foundations.ts'

/** Returns the services of the role. `worker` is the worker of the same node, if it has one: due runs are given to it directly. */
export function schedulerRole(foundations: Foundations, worker: LocalWorker | null): Service[] {
  const { id, config, connections, definitions, clock, log, wakeUps } = foundations
  const { engine, upkeep } = connections
  const facilities = { ...foundations.facilities, db: upkeep }
  const leases = new ShardLeases({
    nodeId: id,
    db: engine,
    log,
    beatMs: config.shardBeatMs,
    takeoverMs: config.shardTakeoverMs,
  })
  const blackouts = new BlackoutBook({ db: engine, wakeUps, log })
  const scheduler = new Scheduler({
    nodeId: id,
    db: engine,
    definitions,
    clock,
    log,
    leases,
    wakeUps,
    worker,
    lookAheadMs: config.lookAheadMs,
    lookEveryMs: config.lookEveryMs,
    lookRows: config.lookRows,
    fireBatch: config.fireBatch,
    misfireGraceMs: config.misfireGraceMs,
    blackouts,
    carryOut: ({ kind, runId }) =>
      kind === 'resume' ? endPauseOnTime(facilities, runId) : skipOnTime(facilities, runId),
  })
  return [leases, blackouts, scheduler, new Backfiller({ db: engine, definitions, wakeUps, log })]
}
