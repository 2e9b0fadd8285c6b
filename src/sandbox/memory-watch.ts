import type { Cgroup } from './cgroups/cgroups.ts'
import { descendantsOf, memoryOf } from './processes.ts'
import type { MemoryWatch } from './supervision.ts'

/** A process may fill about a gigabyte in this time, and no more than its own limit. */
const EVERY_MS = 200

/**
 * Sums up the memory of a program's processes if no cgroup does. It sees only memory that is currently mapped, and a fast
 * program can exceed the limit between two checks.
 */
export const memoryWatch =
  (rootPid: () => number | null, limitBytes: number): MemoryWatch =>
  (exceeded) => {
    const timer = setInterval(() => {
      const pid = rootPid()
      if (pid === null) return
      const used = [pid, ...descendantsOf(pid)].reduce((sum, one) => sum + memoryOf(one), 0)
      if (used > limitBytes) exceeded()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }

/**
 * Ends the whole program when the kernel kills one of its processes for lack of memory; otherwise the others would wait for
 * that process.
 */
export const shortageWatch =
  (cgroup: Cgroup): MemoryWatch =>
  (exceeded) => {
    const timer = setInterval(async () => {
      if (await cgroup.hasKilled()) exceeded()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }
