/**
 * Cgroup version 2 gives controllers to child cgroups only if the parent has no processes of its own. If this process and its
 * children are the only ones in their cgroup, they are therefore moved into a child cgroup, `belfry-node`. Processes of others
 * are never moved, except in a container, where all processes exist to run this one.
 */

import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { descendantsOf } from '../processes.ts'

export const NODE_CGROUP = 'belfry-node'
/** Rounds for processes that were started while others were being moved. */
const MAX_ROUNDS = 10

/** The folder in which cgroups can be created, and the controllers available there. */
export interface Delegated {
  readonly folder: string
  readonly controllers: readonly string[]
}

/** Enables the wanted controllers. Throws if this process is not allowed to change its cgroup. */
export async function prepareDelegation(
  own: string,
  isRoot: boolean,
  wanted: readonly string[],
): Promise<Delegated> {
  const folder = basename(own) === NODE_CGROUP ? dirname(own) : own
  const offered = await words(join(folder, 'cgroup.controllers'))
  const controllers = wanted.filter((name) => offered.includes(name))
  const enable = async () => {
    const enabled = await words(join(folder, 'cgroup.subtree_control'))
    const missing = controllers.filter((name) => !enabled.includes(name))
    if (missing.length > 0)
      await writeFile(join(folder, 'cgroup.subtree_control'), missing.map((name) => `+${name}`).join(' '))
  }
  try {
    await enable()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error
    await moveBelow(folder, isRoot)
    await enable()
  }
  return { folder, controllers }
}

async function moveBelow(folder: string, isRoot: boolean): Promise<void> {
  const below = join(folder, NODE_CGROUP)
  await mkdir(below).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    const pids = (await words(join(folder, 'cgroup.procs'))).map(Number)
    if (pids.length === 0) return
    const ours = new Set([process.pid, ...descendantsOf(process.pid)])
    if (!isRoot && pids.some((pid) => !ours.has(pid)))
      throw new Error('other processes are in the same cgroup')
    for (const pid of pids)
      await writeFile(join(below, 'cgroup.procs'), String(pid)).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ESRCH') throw error
      })
  }
}

const words = async (path: string) => (await readFile(path, 'latin1')).split(/\s+/).filter(Boolean)
