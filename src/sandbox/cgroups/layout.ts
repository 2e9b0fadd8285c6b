/**
 * Determines the cgroups of this process from `/proc/self/cgroup` and `/proc/self/mountinfo`. A machine has version 1, with a
 * hierarchy for each controller, or version 2, with one hierarchy for all, or both; each controller is in only one of them. In
 * a container, only a part of a hierarchy is mounted.
 */

export const CONTROLLERS = ['memory', 'pids', 'cpu'] as const
export type Controller = (typeof CONTROLLERS)[number]

/** Folders of the cgroups of this process. */
export interface CgroupLayout {
  readonly v1: Readonly<Partial<Record<Controller, string>>>
  /** Null if version 2 is not mounted. Its `cgroup.controllers` lists the controllers. */
  readonly v2: string | null
  /** Whether this process is at the root of the visible version 2 hierarchy, as in a container. */
  readonly isV2Root: boolean
}

interface Mount {
  readonly type: string
  readonly root: string
  readonly point: string
  readonly options: readonly string[]
}

export function readLayout(cgroup: string, mountinfo: string): CgroupLayout {
  const mounts = mountinfo.split('\n').flatMap(parseMount)
  const own = cgroup
    .split('\n')
    .map((line) => /^(\d+):([^:]*):(.*)$/.exec(line))
    .filter((match) => match !== null)
    .map(([, , controllers = '', path = '']) => ({ controllers: controllers.split(','), path }))
  const v1: Partial<Record<Controller, string>> = {}
  for (const controller of CONTROLLERS) {
    const path = own.find(({ controllers }) => controllers.includes(controller))?.path
    const mount = mounts.find(({ type, options }) => type === 'cgroup' && options.includes(controller))
    const folder = path === undefined || mount === undefined ? null : folderOf(mount, path)
    if (folder !== null) v1[controller] = folder
  }
  const path = own.find(({ controllers }) => controllers.join() === '')?.path
  const mount = mounts.find(({ type }) => type === 'cgroup2')
  const v2 = path === undefined || mount === undefined ? null : folderOf(mount, path)
  return { v1, v2, isV2Root: v2 !== null && v2 === mount?.point }
}

/** Returns null if the mounted part of the hierarchy does not contain this process. */
function folderOf({ root, point }: Mount, path: string): string | null {
  const above = root === '/' ? '' : root
  if (path !== above && !path.startsWith(`${above}/`)) return null
  return (point + path.slice(above.length)).replace(/\/+$/, '')
}

function parseMount(line: string): Mount[] {
  const [before = '', after = ''] = line.split(' - ')
  const [, , , root, point] = before.split(' ')
  const [type, , options] = after.split(' ')
  if (root === undefined || point === undefined || type === undefined) return []
  return [{ type, root: unescaped(root), point: unescaped(point), options: options?.split(',') ?? [] }]
}

const unescaped = (path: string) =>
  path.replace(/\\([0-7]{3})/g, (_, octal: string) => String.fromCharCode(Number.parseInt(octal, 8)))
