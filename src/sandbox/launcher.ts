/**
 * The shell lines between this process and a program. They wait for a word on descriptor 3 before they go on, so that a program
 * never starts outside of its limits; if this process dies meanwhile, the descriptor ends and so do they.
 *
 * Numbers are written into the text; everything else, the program and its arguments, comes as arguments of the shell.
 */

import type { ProgramLimits } from './sandbox.ts'

export const SHELL = '/bin/sh'
/** What the shell calls itself in front of its complaints. */
export const LAUNCHER = 'belfry'
export const CONTROL_FD = 3
/** The exit code of a launcher that was told nothing. */
const UNTOLD = 125
/** `ulimit` counts in these. */
const BLOCK_BYTES = 512
const KILOBYTE = 1_024
/** A program is a better choice than a service when the machine itself is out of memory. */
const PREFER_TO_KILL = '{ echo 1000 >/proc/self/oom_score_adj; } 2>/dev/null'
const WAIT = `read -r go <&${CONTROL_FD} || exit ${UNTOLD}`
const HIDE_CONTROL = `exec ${CONTROL_FD}>&-`
const BECOME = 'exec "$@"'

/** Limits that the kernel holds each process to. Null sets none. */
export interface ProcessLimits {
  readonly fileBytes: number
  readonly openFiles: number
  /** Of the user in this user namespace, so it counts only what the program started. */
  readonly processes: number | null
  readonly dataBytes: number | null
  readonly cpuSeconds: number | null
}

/** Which limits cgroups hold the whole program to. */
export interface Held {
  readonly memory: boolean
  readonly processes: boolean
  readonly cpus: boolean
}

/** The others are limits of each process. */
export function processLimits(limits: ProgramLimits, held: Held, timeoutMs: number | null): ProcessLimits {
  return {
    fileBytes: limits.fileBytes,
    openFiles: limits.openFiles,
    processes: held.processes ? null : limits.processes,
    dataBytes: held.memory ? null : limits.memoryBytes,
    cpuSeconds:
      held.cpus || timeoutMs === null ? null : Math.max(1, Math.ceil((limits.cpus * timeoutMs) / 1_000)),
  }
}

/** Outside of the namespaces: waits until it is in its cgroup, and becomes bubblewrap. */
export const outer = (inherited: readonly number[]): string =>
  [WAIT, ...closing(inherited), PREFER_TO_KILL, BECOME].join('\n')

/**
 * Inside of the namespaces: says that it is there, and waits until it is sure that everything here ends with this process. Then
 * it becomes the program.
 */
export const inner = (limits: ProcessLimits): string =>
  [`echo >&${CONTROL_FD}`, WAIT, HIDE_CONTROL, ...ulimits(limits), BECOME].join('\n')

/**
 * Without namespaces. Beside the program, a shell waits for the end of this process, and kills the process group; the program is
 * not its parent, because some programs wait for all of their children.
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

/** Descriptors that a launcher must not pass on, beside those that it uses itself. */
const closing = (inherited: readonly number[]) => inherited.map((fd) => `exec ${fd}>&-`)

/**
 * A limit that cannot be set is lower already. Shells disagree about the letter for processes: dash has `-p`, which in bash is the
 * size of pipes, and bash `-u`, which dash does not know.
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
