/**
 * Runs programs without a sandbox: as the user of this process, with its view of the machine. They still have their own process
 * group, environment and work directory, and they are limited and ended like others.
 */

import type { ChildProcess } from 'node:child_process'
import { chmod, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Duplex } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { type Cgroup, type Cgroups, enforcedBy } from './cgroups/cgroups.ts'
import type { LauncherShell } from './inherited.ts'
import { alone, CONTROL_FD, LAUNCHER, processLimits } from './launcher.ts'
import type { LauncherWords } from './launcher-words.ts'
import { makePlace } from './places.ts'
import { copy, writeInput } from './program-folder.ts'
import { removeTree } from './remove-tree.ts'
import { type Launched, type LaunchedProcesses, runProgram, spawnIn } from './run-program.ts'
import type { Enforcement, Program, ProgramEnd, RunOptions, Sandbox } from './sandbox.ts'
import { codeOfSignal, type Exit } from './supervision.ts'

/** Resources of the machine that programs use. */
export interface UnsandboxedOptions {
  /** A folder used by this process alone. */
  readonly folder: string
  readonly cgroups: Cgroups | null
  readonly shell: LauncherShell
  readonly enforcement: Enforcement
}

const DEFAULT_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'
/** Number of checks for the end of a process group. Killed processes count until the init process reaps them. */
const LOOKS = 10

/** The sandbox of the kind `none`. */
export class Unsandboxed implements Sandbox {
  readonly kind = 'none'
  readonly enforcement: Enforcement
  readonly #options: UnsandboxedOptions

  constructor(options: UnsandboxedOptions) {
    this.enforcement = options.enforcement
    this.#options = options
  }

  run(program: Program, options: RunOptions): Promise<ProgramEnd> {
    const { folder, cgroups } = this.#options
    const launch = (one: Program, attemptFolder: string) => this.#launch(one, attemptFolder)
    return runProgram({ folder, cgroups, launch }, program, options)
  }

  close(): Promise<void> {
    return removeTree(this.#options.folder)
  }

  /** All files given to the program are copies, because the program could change the originals. */
  async #launch(program: Program, folder: string): Promise<Launched> {
    await chmod(folder, 0o700)
    const work = join(folder, 'work')
    await mkdir(work)
    for (const { path, source, executable } of program.files) {
      await mkdir(dirname(join(work, path)), { recursive: true })
      const mode = executable ? 0o755 : 0o644
      if (typeof source === 'string') await copy(source, join(work, path), mode)
      else await writeFile(join(work, path), source, { mode })
    }
    const executable = program.name === null ? program.executable : join(folder, 'program', program.name)
    if (program.name !== null) {
      await mkdir(dirname(executable))
      await copy(program.executable, executable, 0o755)
    }
    const { shell } = this.#options
    const inherited = shell.inherited.filter((fd) => fd > CONTROL_FD)
    const limits = processLimits(
      program.limits,
      // A limit on processes would count all processes of this user, including this one.
      { ...enforcedBy(this.#options.cgroups), processes: true },
      program.timeoutMs,
    )
    const { child, output } = spawnIn(
      await makePlace(join(folder, 'pipes'), null),
      [...shell.command, alone(limits, inherited), LAUNCHER, executable, ...program.args],
      {
        stdinPath: await writeInput(folder, program.stdin, null),
        extraStdio: ['pipe'],
        env: { PATH: DEFAULT_PATH, HOME: work, TMPDIR: work, LANG: 'C.UTF-8', ...program.env },
        cwd: work,
      },
    )
    return { child, output, takeCharge: (words, cgroup) => new ProcessGroup(child, words, cgroup) }
  }
}

/**
 * The program and the processes that it started, except those that left the process group, which only a cgroup can find. The
 * launcher's watcher is also in the group, so that the group's id is not reused before everything in it has been killed.
 */
class ProcessGroup implements LaunchedProcesses {
  readonly ended: Promise<Exit>
  readonly #child: ChildProcess
  readonly #control: Duplex

  constructor(child: ChildProcess, words: LauncherWords, cgroup: Cgroup | null) {
    this.#child = child
    this.#control = child.stdio[CONTROL_FD] as Duplex
    this.#control.on('error', () => undefined)
    this.ended = this.#end(words, cgroup)
  }

  get rootPid(): number | null {
    return this.#child.pid ?? null
  }

  begin(): void {
    this.#control.write('go\n')
  }

  terminate(): void {
    this.#signal('SIGTERM')
    // A stopped process handles SIGTERM only after SIGCONT.
    this.#signal('SIGCONT')
  }

  kill(): void {
    this.#signal('SIGKILL')
  }

  /** Returns false if the process group is empty. */
  #signal(signal: NodeJS.Signals | 0): boolean {
    try {
      return this.#child.pid !== undefined && process.kill(-this.#child.pid, signal)
    } catch {
      return false
    }
  }

  async #end(words: LauncherWords, cgroup: Cgroup | null): Promise<Exit> {
    const code = await new Promise<number | null>((resolve) => {
      this.#child.once('exit', (code, signal) => resolve(signal === null ? code : codeOfSignal(signal)))
      this.#child.once('error', (error) => {
        words.add(error)
        resolve(null)
      })
    })
    this.kill()
    this.#control.destroy()
    for (let look = 0; look < LOOKS && this.#signal(0); look += 1) await delay(look)
    await cgroup?.kill()
    return { code }
  }
}
