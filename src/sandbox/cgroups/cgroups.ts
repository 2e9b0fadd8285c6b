/**
 * Cgroups, which enforce limits on a program including all of its child processes. They are created below the cgroup of this
 * process, so limits on this process also apply to its programs.
 */

import { mkdir, readdir, readFile, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Enforced } from '../launcher.ts'
import { judgeName, ownPrefix } from '../owner.ts'
import { signalAll } from '../processes.ts'
import type { Counted } from '../program-end.ts'
import type { ProgramLimits } from '../sandbox.ts'
import { prepareDelegation } from './delegation.ts'
import { CONTROLLERS, type Controller, readLayout } from './layout.ts'

/** Processes besides the program: bubblewrap outside and inside its namespaces. */
const OWN_PROCESSES = 2
const CPU_PERIOD_US = 100_000
/** Minimum that the kernel accepts. */
const MIN_CPU_QUOTA_US = 1_000
/** Processes that are being killed keep their cgroup alive for a moment; a process that cannot end keeps it indefinitely. */
const REMOVE_ATTEMPTS = 100
const MAX_REMOVE_WAIT_MS = 50

/** For each controller, its version and the folder in which cgroups of programs are created. */
export type Parents = Readonly<
  Partial<Record<Controller, { readonly version: 1 | 2; readonly folder: string }>>
>

interface Setting {
  readonly path: string
  readonly value: string
  /** Whether the limit holds even if the kernel rejects this setting: always, or only with this error; null if it must succeed. */
  readonly mayFail: 'always' | 'EINVAL' | null
}

/** Finds and prepares the parent folders; a controller that cannot be used is omitted. */
export async function findParents(): Promise<Parents> {
  const [cgroup, mountinfo] = await Promise.all([
    readFile('/proc/self/cgroup', 'utf8'),
    readFile('/proc/self/mountinfo', 'utf8'),
  ])
  const { v1, v2, isV2Root } = readLayout(cgroup, mountinfo)
  const parents: Record<string, { version: 1 | 2; folder: string }> = {}
  for (const [controller, folder] of Object.entries(v1)) parents[controller] = { version: 1, folder }
  const rest = CONTROLLERS.filter((controller) => v1[controller] === undefined)
  if (v2 !== null && rest.length > 0) {
    const delegated = await prepareDelegation(v2, isV2Root, rest).catch(() => null)
    for (const controller of delegated?.controllers ?? [])
      parents[controller] = { version: 2, folder: delegated?.folder ?? v2 }
  }
  return parents
}

/** Creates cgroups, and removes those left behind by ended processes. */
export class Cgroups {
  readonly parents: Parents
  readonly #prefix = ownPrefix()
  #made = 0

  constructor(parents: Parents) {
    this.parents = parents
  }

  /**
   * Returns the usable cgroups of the machine, as determined by trying: a controller for which no cgroup can be created and
   * limited is omitted. Returns null if none remains.
   */
  static async open(limits: ProgramLimits): Promise<Cgroups | null> {
    const found = await findParents().catch(() => ({}))
    const usable: Record<string, Parents[Controller]> = {}
    for (const [controller, parent] of Object.entries(found)) {
      const cgroups = new Cgroups({ [controller]: parent })
      await cgroups.#sweep()
      const isUsable = await cgroups.create(limits).then(
        (cgroup) => cgroup.remove().then(() => true),
        () => false,
      )
      if (isUsable) usable[controller] = parent
    }
    return Object.keys(usable).length === 0 ? null : new Cgroups(usable as Parents)
  }

  async create(limits: ProgramLimits): Promise<Cgroup> {
    const name = `${this.#prefix}${this.#made}`
    this.#made += 1
    const cgroup = new Cgroup(this.parents, name)
    try {
      await cgroup.make(limits)
      return cgroup
    } catch (error) {
      await cgroup.remove().catch(() => undefined)
      throw error
    }
  }

  async #sweep(): Promise<void> {
    for (const { folder } of Object.values(this.parents)) {
      const names = await readdir(folder).catch(() => [])
      for (const name of names.filter((name) => judgeName(name) === 'left_behind'))
        await removeFolder(join(folder, name)).catch(() => undefined)
    }
  }
}

/** Which limits the cgroups enforce, so that no other mechanism is needed. */
export const enforcedBy = (cgroups: Cgroups | null): Enforced => ({
  memory: cgroups?.parents.memory !== undefined,
  processes: cgroups?.parents.pids !== undefined,
  cpus: cgroups?.parents.cpu !== undefined,
})

/** The cgroup of one program. */
export class Cgroup {
  readonly #folders: Readonly<Partial<Record<Controller, { version: 1 | 2; path: string }>>>
  readonly #paths: readonly string[]

  constructor(parents: Parents, name: string) {
    this.#folders = Object.fromEntries(
      Object.entries(parents).map(([controller, { version, folder }]) => [
        controller,
        { version, path: join(folder, name) },
      ]),
    )
    this.#paths = [...new Set(Object.values(this.#folders).map(({ path }) => path))]
  }

  async make(limits: ProgramLimits): Promise<void> {
    for (const path of this.#paths) await mkdir(path)
    for (const { path, value, mayFail } of this.#settings(limits))
      await writeFile(path, value).catch((error: NodeJS.ErrnoException) => {
        if (mayFail !== 'always' && mayFail !== error.code) throw error
      })
  }

  /** Adds a process and all processes that it starts from then on. */
  async add(pid: number): Promise<void> {
    for (const path of this.#paths) await writeFile(join(path, 'cgroup.procs'), String(pid))
  }

  get limitsMemory(): boolean {
    return this.#folders.memory !== undefined
  }

  /** Whether the kernel killed processes because the memory limit was exceeded. */
  async hasKilled(): Promise<boolean> {
    const { memory } = this.#folders
    if (memory === undefined) return false
    const file = memory.version === 1 ? 'memory.oom_control' : 'memory.events'
    return ((await counter(join(memory.path, file), 'oom_kill')) ?? 0) > 0
  }

  async counted(): Promise<Counted> {
    const { memory, cpu } = this.#folders
    const peak =
      memory && join(memory.path, memory.version === 1 ? 'memory.max_usage_in_bytes' : 'memory.peak')
    const [nanoseconds, microseconds] = [
      cpu?.version === 1 ? await number(join(cpu.path, 'cpuacct.usage')) : null,
      cpu?.version === 2 ? await counter(join(cpu.path, 'cpu.stat'), 'usage_usec') : null,
    ]
    const cpuMs = nanoseconds === null ? microseconds && microseconds / 1_000 : nanoseconds / 1_000_000
    return {
      outOfMemory: await this.hasKilled(),
      peakMemoryBytes: peak === undefined ? null : await number(peak),
      cpuMs: cpuMs && Math.round(cpuMs),
    }
  }

  /** Kills all processes in the cgroup. */
  async kill(): Promise<void> {
    for (const path of this.#paths) await killAll(path)
  }

  /** Removes the cgroup and kills the processes that remain in it. */
  async remove(): Promise<void> {
    for (const path of this.#paths) await removeFolder(path)
  }

  #settings(limits: ProgramLimits): Setting[] {
    const { memory, pids, cpu } = this.#folders
    const set = (
      folder: string,
      file: string,
      value: string | number,
      mayFail: Setting['mayFail'] = null,
    ) => ({
      ...{ path: join(folder, file), value: String(value), mayFail },
    })
    const bytes = limits.memoryBytes
    const quota = Math.max(MIN_CPU_QUOTA_US, Math.round(limits.cpus * CPU_PERIOD_US))
    return [
      // Swapping would only slow down a program that needs too much memory. Not every kernel accounts for swap.
      ...(memory?.version === 1
        ? [
            set(memory.path, 'memory.limit_in_bytes', bytes),
            set(memory.path, 'memory.memsw.limit_in_bytes', bytes, 'always'),
          ]
        : []),
      ...(memory?.version === 2
        ? [
            set(memory.path, 'memory.max', bytes),
            set(memory.path, 'memory.swap.max', 0, 'always'),
            set(memory.path, 'memory.oom.group', 1, 'always'),
          ]
        : []),
      ...(pids === undefined ? [] : [set(pids.path, 'pids.max', limits.processes + OWN_PROCESSES)]),
      ...(cpu?.version === 1
        ? [
            set(cpu.path, 'cpu.cfs_period_us', CPU_PERIOD_US),
            // EINVAL: the parent cgroup has a lower quota, which then applies.
            set(cpu.path, 'cpu.cfs_quota_us', quota, 'EINVAL'),
          ]
        : []),
      ...(cpu?.version === 2 ? [set(cpu.path, 'cpu.max', `${quota} ${CPU_PERIOD_US}`)] : []),
    ]
  }
}

async function removeFolder(path: string): Promise<void> {
  for (let attempt = 1; ; attempt += 1)
    try {
      await rmdir(path)
      return
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'ENOENT') return
      if (code !== 'EBUSY' || attempt === REMOVE_ATTEMPTS) throw error
      await killAll(path)
      await delay(Math.min(attempt, MAX_REMOVE_WAIT_MS))
    }
}

/** Version 2 kills all processes at once. Elsewhere, `pids.max` prevents new processes while the existing ones are killed. */
async function killAll(path: string): Promise<void> {
  const ignore = () => undefined
  await writeFile(join(path, 'cgroup.kill'), '1').catch(ignore)
  await writeFile(join(path, 'pids.max'), '0').catch(ignore)
  const pids = await readFile(join(path, 'cgroup.procs'), 'latin1').catch(() => '')
  signalAll(pids.split('\n').filter(Boolean).map(Number), 'SIGKILL')
}

async function number(path: string): Promise<number | null> {
  const text = await readFile(path, 'latin1').catch(() => '')
  return text === '' ? null : Number(text)
}

async function counter(path: string, name: string): Promise<number | null> {
  const text = await readFile(path, 'latin1').catch(() => '')
  const found = new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]
  return found === undefined ? null : Number(found)
}
