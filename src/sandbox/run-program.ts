/** Shared by all kinds of sandboxes: checks before the start, the folder and cgroup of a program, and its result. */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Cgroup, Cgroups } from './cgroups/cgroups.ts'
import { findFault } from './check-program.ts'
import { findObstacle } from './executable.ts'
import { LauncherWords } from './launcher-words.ts'
import { memoryWatch, shortageWatch } from './memory-watch.ts'
import { type OpenPipe, openPipe, type Place } from './places.ts'
import { NOT_COUNTED, notStarted, programEnd } from './program-end.ts'
import { makeAttemptFolder } from './program-folder.ts'
import { removeTree } from './remove-tree.ts'
import type { OutputStream, Program, ProgramEnd, RunOptions } from './sandbox.ts'
import { type Processes, supervise } from './supervision.ts'

/** The parts of running a program that differ by kind of sandbox. */
export interface Ground {
  /** A folder used by this process alone. */
  readonly folder: string
  readonly cgroups: Cgroups | null
  /** Starts a launcher, which waits until it is released. */
  launch(program: Program, folder: string): Promise<Launched>
}

/** A launcher that waits to be released. */
export interface Launched extends Spawned {
  /** Returns an object that controls the launcher and the processes that it becomes. */
  readonly takeCharge: (words: LauncherWords, cgroup: Cgroup | null) => LaunchedProcesses
}

/** The processes of a launcher that waits. */
export interface LaunchedProcesses extends Processes {
  /** Releases the launcher. */
  begin(): void
  /** The ancestor of all other processes of the program; null before it exists. */
  readonly rootPid: number | null
}

/** A child process and its output streams. */
export interface Spawned {
  readonly child: ChildProcess
  readonly output: Readonly<Record<OutputStream, Socket>>
}

export async function runProgram(ground: Ground, program: Program, options: RunOptions): Promise<ProgramEnd> {
  const fault = findFault(program)
  if (fault !== null) return notStarted({ cause: 'not_executable', message: fault })
  const obstacle = await findObstacle(program.executable)
  if (obstacle !== null) return notStarted(obstacle)
  const startedAt = performance.now()
  let folder: string | null = null
  let cgroup: Cgroup | null = null
  try {
    let launched: Launched
    try {
      folder = await makeAttemptFolder(ground.folder)
      cgroup = (await ground.cgroups?.create(program.limits)) ?? null
      launched = await ground.launch(program, folder)
    } catch (error) {
      // The machine lacks a resource: disk space, descriptors or processes.
      return notStarted({ cause: 'spawn_failed', message: (error as Error).message })
    }
    return await attend(program, options, launched, cgroup, startedAt)
  } finally {
    // What cannot be removed now is removed by a later process.
    await cgroup?.remove().catch(() => undefined)
    if (folder !== null) await removeTree(folder).catch(() => undefined)
  }
}

async function attend(
  program: Program,
  options: RunOptions,
  { child, output, takeCharge }: Launched,
  cgroup: Cgroup | null,
  startedAt: number,
): Promise<ProgramEnd> {
  const words = new LauncherWords(options)
  const processes = takeCharge(words, cgroup)
  const watchMemory =
    cgroup?.limitsMemory === true
      ? shortageWatch(cgroup)
      : memoryWatch(() => processes.rootPid, program.limits.memoryBytes)
  const supervised = supervise({ program, options: words, processes, output, watchMemory })
  try {
    if (child.pid !== undefined) await cgroup?.add(child.pid)
    processes.begin()
  } catch (error) {
    words.add(error as Error)
    processes.kill()
  }
  const ended = await supervised
  const counted = (await cgroup?.counted()) ?? NOT_COUNTED
  return programEnd(program, ended, counted, words, performance.now() - startedAt)
}

/**
 * Starts a process whose output goes through the pipes of a place, and closes this process's copies of the inherited
 * descriptors.
 */
export function spawnIn(
  { stdoutPath, stderrPath }: Place,
  [command = '', ...args]: readonly string[],
  {
    stdinPath,
    extraStdio,
    ...options
  }: Omit<SpawnOptions, 'stdio'> & {
    readonly stdinPath: string | null
    /** Descriptors from 3 on. */
    readonly extraStdio: readonly ('pipe' | { readonly path: string; readonly flags: 'r' | 'w' })[]
  },
): Spawned {
  const given: number[] = []
  const pipes: OpenPipe[] = []
  const file = (path: string, flags: 'r' | 'w') => {
    const fd = openSync(path, flags, 0o600)
    given.push(fd)
    return fd
  }
  const pipe = (path: string) => {
    const opened = openPipe(path)
    given.push(opened.writer)
    pipes.push(opened)
    return opened
  }
  try {
    const stdin = stdinPath === null ? 'ignore' : file(stdinPath, 'r')
    const [stdout, stderr] = [pipe(stdoutPath), pipe(stderrPath)]
    const extra = extraStdio.map((one) => (one === 'pipe' ? one : file(one.path, one.flags)))
    const child = spawn(command, args, {
      ...options,
      stdio: [stdin, stdout.writer, stderr.writer, ...extra],
      // A separate process group: Ctrl-C at a terminal must not interrupt programs.
      detached: true,
    })
    return { child, output: { stdout: stdout.reader, stderr: stderr.reader } }
  } catch (error) {
    for (const { reader } of pipes) reader.destroy()
    throw error
  } finally {
    for (const fd of given) closeSync(fd)
  }
}
