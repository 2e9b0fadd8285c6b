/**
 * Shell scripts that run between this process and a program. They wait for a line on descriptor 3 before they continue, so that
 * a program never starts without its limits; if this process dies meanwhile, the descriptor closes and the scripts exit.
 *
 * Only numbers are written into the scripts; everything else, such as the program and its arguments, is passed as arguments of
 * the shell.
 */

import type { ProgramLimits } from './sandbox.ts'

export const SHELL = '/bin/sh'
/** Prefix of the shell's error messages. */
export const LAUNCHER = 'belfry'
export const CONTROL_FD = 3
/** Exit code of a launcher that received no line. */
const UNTOLD = 125
/** Units of `ulimit`. */
const BLOCK_BYTES = 512
const KILOBYTE = 1_024
/** If the machine runs out of memory, the kernel should kill a program rather than a service. */
const PREFER_TO_KILL = '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null'
const WAIT = `read -r go <&${CONTROL_FD} || exit ${UNTOLD}`
const HIDE_CONTROL = `exec ${CONTROL_FD}>&-`
const BECOME = 'exec "$@"'

/** Limits that the kernel enforces for each process. Null for no limit. */
export interface ProcessLimits {
  readonly fileBytes: number
  readonly openFiles: number
  /** Counts the processes of the user in this user namespace, so only those that the program started. */
  readonly processes: number | null
  readonly dataBytes: number | null
  readonly cpuSeconds: number | null
}

/** Limits that cgroups enforce for the whole program. */
export interface Enforced {
  readonly memory: boolean
  readonly processes: boolean
  readonly cpus: boolean
}

/** Returns the limits of each process, for everything that cgroups do not enforce. */
export function processLimits(
  limits: ProgramLimits,
  enforced: Enforced,
  timeoutMs: number | null,
): ProcessLimits {
  return {
    fileBytes: limits.fileBytes,
    openFiles: limits.openFiles,
    processes: enforced.processes ? null : limits.processes,
    dataBytes: enforced.memory ? null : limits.memoryBytes,
    cpuSeconds:
      enforced.cpus || timeoutMs === null ? null : Math.max(1, Math.ceil((limits.cpus * timeoutMs) / 1_000)),
  }
}

/** Outside of the namespaces: waits until it is in its cgroup, and becomes bubblewrap. */
export const outer = (inherited: readonly number[]): string =>
  [WAIT, ...closing(inherited), PREFER_TO_KILL, BECOME].join('\n')

/**
 * Inside the namespaces: reports that it has started, and waits until everything here is certain to end with this process. Then
 * it becomes the program.
 */
export const inner = (limits: ProcessLimits): string =>
  [`echo >&${CONTROL_FD}`, WAIT, HIDE_CONTROL, ...ulimits(limits), BECOME].join('\n')

/**
 * Without namespaces: next to the program, a shell waits for the end of this process and then kills the process group. The
 * shell is not a child of the program, because some programs wait for all of their children.
 */
export const alone = (limits: ProcessLimits, inherited: readonly number[]): string =>
  [
    WAIT,
    ...closing(inherited),
    PREFER_TO_KILL,
    `( ( trap '' TERM INT HUP; read -r go <&${CONTROL_FD}; kill -9 0 ) </dev/null >/dev/null 2>&1 & )`,
    HIDE_CONTROL,
    ...ulimits(limits),
    BECOME,
  ].join('\n')

/** Closes descriptors that a launcher must not pass on, except those that it uses itself. */
const closing = (inherited: readonly number[]) => inherited.map((fd) => `exec ${fd}>&-`)

/**
 * If a limit cannot be set, the current one is lower already. Shells differ in the option for processes: dash has `-p`, which
 * in bash is the size of pipes, and bash has `-u`, which dash lacks.
 */
function ulimits({ fileBytes, openFiles, processes, dataBytes, cpuSeconds }: ProcessLimits): string[] {
  const set = (letter: string, value: number) => `ulimit -${letter} ${Math.ceil(value)} 2>/dev/null`
  return [
    set('c', 0),
    set('f', fileBytes / BLOCK_BYTES),
    set('n', openFiles),
    ...(processes === null ? [] : [`${set('u', processes)} || ${set('p', processes)}`]),
    ...(dataBytes === null ? [] : [set('d', dataBytes / KILOBYTE)]),
    ...(cpuSeconds === null ? [] : [set('t', cpuSeconds)]),
  ]
}
