/**
 * Arguments of bubblewrap, which determine what a program sees. They are passed through a descriptor instead of the command
 * line, where every user of the machine and the program itself could read the environment and the paths.
 */

import { lstat, readlink } from 'node:fs/promises'
import type { Program } from '../sandbox.ts'

/** Paths inside the sandbox. */
export const WORK = '/tmp/work'
export const PROGRAM_FOLDER = '/program'
/** The user that the program sees itself as. */
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

/** Folders of programs and libraries. On most systems these are links into `/usr`. */
const SYSTEM_FOLDERS = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'] as const
/** Files used by the linker, TLS and the C library; none of them is secret. */
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

/** A system folder: a link and its target, or a real folder. */
export interface SystemFolder {
  readonly path: string
  readonly linkTo: string | null
}

/** Returns the system folders of this machine. */
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

/** Inputs of the arguments besides the program. */
export interface View {
  readonly system: readonly SystemFolder[]
  /** Files of this process that list the users the program sees. */
  readonly passwdPath: string
  readonly groupPath: string
  /** File descriptors of bubblewrap. */
  readonly filterFd: number
  readonly statusFd: number
  /** The executable and the work files. */
  readonly mounts: readonly Mount[]
}

/** A file of this machine and its path inside the sandbox. */
export interface Mount {
  readonly source: string
  readonly target: string
}

/** Path of the executable inside the sandbox. */
export const executableTarget = ({ executable, name }: Program): string =>
  name === null ? executable : `${PROGRAM_FOLDER}/${name}`

/** Whether a path of this machine is visible to every program. */
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
    // The work directory, `/tmp` and shared memory are on one file system, so that one size limits them.
    ...['--symlink', '/tmp', '/dev/shm'],
    ...['--perms', '1777', '--size', String(limits.fileBytes), '--tmpfs', '/tmp', '--dir', WORK],
    ...readable.flatMap((path) => readOnly(path)),
    ...writable.flatMap((path) => ['--bind', path, path]),
    ...view.mounts.flatMap(({ source, target }) => readOnly(source, target)),
    // The root is also in memory, belongs to the program and has no size limit.
    ...['--remount-ro', '/'],

    ...['--chdir', WORK],
    // The launcher's shell may have set variables.
    '--clearenv',
    ...Object.entries({ ...DEFAULT_ENV, ...env }).flatMap(([name, value]) => ['--setenv', name, value]),
  ]
}
