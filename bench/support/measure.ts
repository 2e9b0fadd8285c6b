/** What a stretch of work cost: time, CPU of each process, and WAL. */
import { readdirSync, readFileSync } from 'node:fs'
import type { Database } from '../../src/store/database.ts'
import { sql } from '../../src/store/sql.ts'

const TICKS_PER_SECOND = 100

/** CPU time of a process and of its ended children, in microseconds. */
function cpuOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const ticks = [11, 12, 13, 14].reduce((sum, index) => sum + Number(fields[index]), 0)
  return (ticks / TICKS_PER_SECOND) * 1_000_000
}

function childrenOf(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
        return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]) === parent
      } catch {
        return false
      }
    })
}

/** CPU of a server and all its backends. Backends that have ended count through their parent. */
function cpuOfTree(pid: number): number {
  let sum = 0
  for (const id of [pid, ...childrenOf(pid)]) {
    try {
      sum += id === pid ? cpuOf(id) : ownCpu(id)
    } catch {
      // The process ended between listing and reading.
    }
  }
  return sum
}

function ownCpu(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return ((Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND) * 1_000_000
}

export function residentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024
}

export interface Cost {
  readonly seconds: number
  readonly postgresCpuUs: number
  readonly nodeCpuUs: number
  readonly walBytes: number
}

/** Starts measuring; the returned function ends it. */
export async function measure(
  db: Database,
  postgresPid: number,
  nodePids: () => readonly number[],
): Promise<() => Promise<Cost>> {
  const wal = async () =>
    Number(
      (
        await db.run(
          sql<{ bytes: string }>`select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::text as bytes`,
        )
      )[0]?.bytes,
    )
  const nodes = () => nodePids().reduce((sum, pid) => sum + cpuOf(pid), 0)
  const before = { at: performance.now(), wal: await wal(), postgres: cpuOfTree(postgresPid), node: nodes() }
  return async () => {
    const seconds = (performance.now() - before.at) / 1000
    return {
      seconds,
      postgresCpuUs: cpuOfTree(postgresPid) - before.postgres,
      nodeCpuUs: nodes() - before.node,
      walBytes: (await wal()) - before.wal,
    }
  }
}
