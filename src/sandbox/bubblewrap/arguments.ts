/**
 * What a program sees: the arguments of bubblewrap. They are passed through a descriptor, not on the command line, where everybody
 * on the machine and the program itself could read the environment and the paths of this machine.
 */

import { lstat, readlink } from 'node:fs/promises'
import type { Program } from '../sandbox.ts'

/** Paths as the program sees them. */
export const WORK = '/tmp/work'
export const PROGRAM_FOLDER = '/program'
/** Whom the program takes itself for. */
export const UID = 1000
export const PASSWD = [
  'root:x:0:0:root:/:/bin/false',
  `program:x:${UID}:${UID}:program:${WORK}:/bin/sh`,
  'nobody:x:65534:65534:nobody:/:/bin/false',
  '',
].join('\n')
export const GROUP = ['root:x:0:', `program:x:${UID}:`, 'nogroup:x:65534:', ''].join('\n')

export const DEFAULT_ENV: Readonly<Record<string, string>> = {
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: WORK,
  TMPDIR: '/tmp',
  LANG: 'C.UTF-8',
  USER: 'program',
}

/** Where programs and libraries are. On most systems these are links into `/usr`. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const
/** Found by the linker, by TLS and by the C library; nothing in them is secret. */
const SETTINGS = [
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/alternatives',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/tls/cert.pem',
  '/etc/pki/tls/openssl.cnf',
  '/etc/pki/ca-trust/extracted',
  '/etc/crypto-policies',
  '/etc/localtime',
  '/etc/timezone',
  '/etc/nsswitch.conf',
]
const NETWORK_SETTINGS = [
  '/etc/resolv.conf',
  '/etc/hosts',
  '/etc/host.conf',
  '/etc/gai.conf',
  '/etc/services',
  '/etc/protocols',
]
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom']

/** A folder of the system: a link, with where it leads, or the folder itself. */
export interface SystemFolder {
  readonly path: string
  readonly linkTo: string | null
}

/** Those of this machine. */
export async function findSystem(): Promise<readonly SystemFolder[]> {
  const found = await Promise.all(
    SYSTEM_FOLDERS.map(async (path) => {
      const entry = await lstat(path).catch(() => null)
      if (entry === null) return []
      return [{ path, linkTo: entry.isSymbolicLink() ? await readlink(path) : null }]
    }),
  )
  return found.flat()
}

/** What the arguments depend on beside the program. */
export interface View {
  readonly system: readonly SystemFolder[]
  /** Files of this process with the users that the program sees. */
  readonly passwdPath: string
  readonly groupPath: string
  /** Descriptors of bubblewrap. */
  readonly filterFd: number
  readonly statusFd: number
  /** The executable and the work files. */
  readonly mounts: readonly Mount[]
}

/** A file of this machine, and where the program sees it. */
export interface Mount {
  readonly source: string
  readonly target: string
}

/** Where the program finds its executable. */
export const executableTarget = ({ executable, name }: Program): string =>
  name === null ? executable : `${PROGRAM_FOLDER}/${name}`

/** Whether every program sees a path of this machine. */
export const isInSystem = (path: string): boolean =>
  ['/usr', ...SYSTEM_FOLDERS].some((folder) => path.startsWith(`${folder}/`))

export function bubblewrapArguments(program: Program, view: View): readonly string[] {
  const { network, limits, env, readable, writable = [] } = program
  const readOnly = (source: string, target = source) => ['--ro-bind', source, target]
  const readOnlyIfThere = (path: string) => ['--ro-bind-try', path, path]
  return [
    ...['--unshare-user', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...(network ? [] : ['--unshare-net']),
    ...['--uid', String(UID), '--gid', String(UID), '--hostname', 'belfry', '--cap-drop', 'ALL'],
    ...['--die-with-parent', '--new-session'],
    ...['--seccomp', String(view.filterFd), '--json-status-fd', String(view.statusFd)],

    ...readOnly('/usr'),
    ...view.system.flatMap(({ path, linkTo }) =>
      linkTo === null ? readOnly(path) : ['--symlink', linkTo, path],
    ),
    ...['--dir', '/etc'],
    ...[...SETTINGS, ...(network ? NETWORK_SETTINGS : [])].flatMap(readOnlyIfThere),
    ...readOnly(view.passwdPath, '/etc/passwd'),
    ...readOnly(view.groupPath, '/etc/group'),
    ...['--proc', '/proc', '--dir', '/dev'],
    ...DEVICES.flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]),
    ...['--symlink', '/proc/self/fd', '/dev/fd'],
    ...['stdin', 'stdout', 'stderr'].flatMap((name, fd) => ['--symlink', `fd/${fd}`, `/dev/${name}`]),
    // One file system for everything that can be written, so that one size limits it. Shared memory is there, too.
    ...['--symlink', '/tmp', '/dev/shm'],
    ...['--perms', '1777', '--size', String(limits.fileBytes), '--tmpfs', '/tmp', '--dir', WORK],
    ...readable.flatMap((path) => readOnly(path)),
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...view.mounts.flatMap(({ source, target }) => readOnly(source, target)),
    // The root is in memory as well, belongs to the program, and has no limit.
    ...['--remount-ro', '/'],

    ...['--chdir', WORK],
    // The launcher's shell may have added variables of its own.
    '--clearenv',
    ...Object.entries({ ...DEFAULT_ENV, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}
