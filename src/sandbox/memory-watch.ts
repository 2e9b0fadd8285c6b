import type { Cgroup } from './cgroups/cgroups.ts'
import { descendantsOf, memoryOf } from './processes.ts'
import type { MemoryWatch } from './supervision.ts'

/** A process may fill about a gigabyte in this time, and no more than its own limit. */
const EVERY_MS = 200

/**
 * Adds up what a program has in memory, where no cgroup does. It sees only what processes have mapped, and a program that is fast
 * enough exceeds the limit until the next look.
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

/** The kernel kills one process of those that are together too large; the others would wait for it. */
export const shortageWatch =
  (cgroup: Cgroup): MemoryWatch =>
  (exceeded) => {
    const timer = setInterval(async () => {
      if (await cgroup.hasKilled()) exceeded()
    }, EVERY_MS)
    return () => clearInterval(timer)
  }
