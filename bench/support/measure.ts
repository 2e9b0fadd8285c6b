/** What a stretch of work cost: time, CPU of the database and of the processes that work, and WAL. */
import { ownCpuUs, peakMiB, treeCpuUs } from './cpu.ts'
import { profile } from './profile.ts'

export interface Subject {
  /** The database server; its children count with it. */
  readonly serverPid: number
  readonly pids: readonly number[]
  /** Backends that serve the benchmark itself: what they cost is not counted. */
  readonly ownBackends: readonly number[]
  /** Returns the position in the WAL, or null if there is no WAL. */
  wal(): Promise<number | null>
  /** Counts the cost of statements; null if that is not wanted. */
  readonly statements: { reset(): Promise<void>; print(): Promise<void> } | null
}

export interface Cost {
  readonly seconds: number
  readonly databaseCpuUs: number
  readonly nodeCpuUs: number
  readonly walBytes: number | null
  /** Peak memory of the largest process. */
  readonly peakMiB: number
  /** CPU time that the benchmark's own queries cost the database; not included in the figures above. */
  readonly watchingCpuUs: number
}

/** Starts measuring; the returned function stops and returns the cost. */
export async function measure(subject: Subject): Promise<() => Promise<Cost>> {
  await subject.statements?.reset()
  const walBefore = await subject.wal()
  const endProfile = await profile(subject.pids)
  const before = read(subject)
  return async () => {
    const after = read(subject)
    const walAfter = await subject.wal()
    await endProfile()
    await subject.statements?.print()
    return {
      seconds: (after.at - before.at) / 1000,
      databaseCpuUs: after.database - before.database,
      nodeCpuUs: after.node - before.node,
      walBytes: walBefore === null || walAfter === null ? null : walAfter - walBefore,
      peakMiB: Math.max(0, ...subject.pids.map(peakMiB)),
      watchingCpuUs: after.watching - before.watching,
    }
  }
}

function read({ serverPid, pids, ownBackends }: Subject) {
  const sum = (ids: readonly number[]) => ids.reduce((total, pid) => total + ownCpuUs(pid), 0)
  const at = performance.now()
  const watching = sum(ownBackends)
  return { at, database: treeCpuUs(serverPid) - watching, node: sum(pids), watching }
}

/** The cost per run, as it is reported. */
export interface CostPerRun {
  readonly runs: number
  readonly seconds: number
  readonly runsPerSecond: number
  readonly cpuUsPerRun: number
  readonly databaseUsPerRun: number
  readonly nodeUsPerRun: number
  readonly walBytesPerRun: number | null
  readonly peakMiB: number
  readonly watchingUsPerRun: number
}

export function perRun(runs: number, cost: Cost): CostPerRun {
  return {
    runs,
    seconds: cost.seconds,
    runsPerSecond: runs / cost.seconds,
    cpuUsPerRun: (cost.databaseCpuUs + cost.nodeCpuUs) / runs,
    databaseUsPerRun: cost.databaseCpuUs / runs,
    nodeUsPerRun: cost.nodeCpuUs / runs,
    walBytesPerRun: cost.walBytes === null ? null : cost.walBytes / runs,
    peakMiB: cost.peakMiB,
    watchingUsPerRun: cost.watchingCpuUs / runs,
  }
}
