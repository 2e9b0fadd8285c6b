/** The liveness role: taking runs back from dead nodes, and maintenance. */
import { Reaper } from '../../liveness/reaper.ts'
import { AddressSealer } from '../../maintenance/address-sealer.ts'
import { Archiver } from '../../maintenance/archiver.ts'
import { Auditor } from '../../maintenance/audit/auditor.ts'
import { Expiry } from '../../maintenance/expiry.ts'
import { FileWaits } from '../../maintenance/file-waits.ts'
import { Housekeeping } from '../../maintenance/housekeeping.ts'
import { LaneRepair } from '../../maintenance/lane-repair.ts'
import { Retention } from '../../maintenance/retention.ts'
import { SigningSealer } from '../../maintenance/signing-sealer.ts'
import { Tally } from '../../maintenance/tally.ts'
import { Overruns } from '../../remote/overruns.ts'
import { SilentAttempts } from '../../remote/silent-attempts.ts'
import type { Service } from '../../runtime/service.ts'
import { PostgresTransport } from '../../transport/postgres/postgres-transport.ts'
import type { Foundations } from '../foundations.ts'

export function livenessRole({
  id,
  config,
  vault,
  connections,
  definitions,
  wakeUps,
  clock,
  log,
  facilities,
}: Foundations): Service[] {
  const { engine, upkeep } = connections
  const {
    historyDays,
    auditDays,
    deadNodeMinutes,
    unusedQueueDays,
    unusedFileDays,
    housekeepingMs: everyMs,
    leaseMs,
  } = config
  return [
    new Reaper({
      nodeId: id,
      db: upkeep,
      wakeUps,
      clock,
      log,
      everyMs: config.reaperMs,
      deadAfterMs: leaseMs,
      batch: config.reclaimBatch,
    }),
    new Housekeeping({
      db: upkeep,
      log,
      historyDays,
      auditDays,
      deadNodeMinutes,
      unusedQueueDays,
      unusedFileDays,
      everyMs,
    }),
    new Retention({ db: upkeep, log, historyDays, auditDays, everyMs }),
    new Tally({ db: upkeep, log }),
    new SigningSealer({ db: engine, vault, log }),
    new AddressSealer({ facilities: { ...facilities, db: connections.delivery }, log }),
    new Auditor({ db: engine, transport: new PostgresTransport(engine), wakeUps, log }),
    new LaneRepair({ db: engine, transport: new PostgresTransport(engine), wakeUps, log }),
    new Expiry({ db: upkeep, wakeUps, log }),
    new Archiver({ facilities: { ...facilities, db: connections.delivery }, log }),
    new FileWaits({ facilities: { ...facilities, db: connections.delivery }, log }),
    new Overruns({ db: engine, definitions, wakeUps, clock, log, leaseMs }),
    new SilentAttempts({
      db: upkeep,
      definitions,
      wakeUps,
      clock,
      log,
      everyMs: config.reaperMs,
      leaseMs,
      batch: config.reclaimBatch,
    }),
  ]
}
