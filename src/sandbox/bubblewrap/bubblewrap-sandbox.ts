/** Runs programs in separate namespaces, created by bubblewrap. */

import { realpath, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex, Writable } from 'node:stream'
import { type Cgroups, enforcedBy } from '../cgroups/cgroups.ts'
import { canExecute } from '../executable.ts'
import type { LauncherShell } from '../inherited.ts'
import { inner, LAUNCHER, outer, processLimits, SHELL } from '../launcher.ts'
import { type Place, Places, type User } from '../places.ts'
import { copy, shareFile, writeInput, writeOwn } from '../program-folder.ts'
import { removeTree } from '../remove-tree.ts'
import { type Launched, runProgram, spawnIn } from '../run-program.ts'
import type { Enforcement, Program, ProgramEnd, RunOptions, Sandbox } from '../sandbox.ts'
import {
  bubblewrapArguments,
  executableTarget,
  GROUP,
  isInSystem,
  type Mount,
  PASSWD,
  type SystemFolder,
  WORK,
} from './arguments.ts'
import { BubblewrapProcesses } from './bubblewrap-processes.ts'

/** Resources of the machine that the sandbox uses. */
export interface BubblewrapOptions {
  /** The path of `bwrap`. */
  readonly bwrap: string
  /** A folder used by this process alone, which other users can pass through. */
  readonly folder: string
  readonly system: readonly SystemFolder[]
  /** The program for `--seccomp`. */
  readonly filter: Buffer
  readonly cgroups: Cgroups | null
  readonly shell: LauncherShell
  /** The first user that programs can run as; null to run as the user of this process. */
  readonly firstUid: number | null
  readonly enforcement: Enforcement
}

/** File descriptors of bubblewrap, after the control descriptor. */
const ARGS_FD = 4
const FILTER_FD = 5
const STATUS_FD = 6

/** The sandbox of the kind `bubblewrap`. */
export class BubblewrapSandbox implements Sandbox {
  readonly kind = 'bubblewrap'
  readonly enforcement: Enforcement
  readonly #options: BubblewrapOptions
  readonly #places: Places
  readonly #filterPath: string
  readonly #passwdPath: string
  readonly #groupPath: string

  private constructor(options: BubblewrapOptions) {
    this.enforcement = options.enforcement
    this.#options = options
    this.#places = new Places(options.folder, options.firstUid)
    this.#filterPath = join(options.folder, 'filter')
    this.#passwdPath = join(options.folder, 'passwd')
    this.#groupPath = join(options.folder, 'group')
  }

  static async open(options: BubblewrapOptions): Promise<BubblewrapSandbox> {
    const sandbox = new BubblewrapSandbox(options)
    await Promise.all([
      writeFile(sandbox.#filterPath, options.filter, { mode: 0o444 }),
      writeFile(sandbox.#passwdPath, PASSWD, { mode: 0o444 }),
      writeFile(sandbox.#groupPath, GROUP, { mode: 0o444 }),
    ])
    return sandbox
  }

  async run(program: Program, options: RunOptions): Promise<ProgramEnd> {
    const { folder, cgroups } = this.#options
    const place = await this.#places.take()
    const launch = (one: Program, attemptFolder: string) => this.#launch(one, attemptFolder, place)
    try {
      return await runProgram({ folder, cgroups, launch }, program, options)
    } finally {
      this.#places.giveBack(place)
    }
  }

  close(): Promise<void> {
    return removeTree(this.#options.folder)
  }

  async #launch(program: Program, folder: string, place: Place): Promise<Launched> {
    const { bwrap, cgroups, shell } = this.#options
    const inherited = shell.inherited.filter((fd) => fd > STATUS_FD)
    const args = this.#arguments(program, await findMounts(program, folder, place.user))
    const limits = processLimits(program.limits, enforcedBy(cgroups), program.timeoutMs)
    const command = [SHELL, '-c', inner(limits), LAUNCHER, executableTarget(program), ...program.args]
    const statusPath = join(folder, 'status')
    const { child, output } = spawnIn(
      place,
      [...shell.command, outer(inherited), LAUNCHER, bwrap, '--args', String(ARGS_FD), '--', ...command],
      {
        stdinPath: await writeInput(folder, program.stdin, place.user),
        extraStdio: [
          'pipe',
          'pipe',
          { path: this.#filterPath, flags: 'r' },
          { path: statusPath, flags: 'w' },
        ],
        // Empty: the first process of the namespaces would expose this process's environment to the program.
        env: {},
        cwd: '/',
        ...place.user,
      },
    )
    const [, , , control, argsStream] = child.stdio as unknown as Streams
    argsStream.on('error', () => undefined)
    argsStream.end(args)
    return {
      child,
      output,
      takeCharge: (words) => new BubblewrapProcesses(child, control, statusPath, words),
    }
  }

  #arguments(program: Program, mounts: readonly Mount[]): string {
    const view = {
      ...{ system: this.#options.system, mounts, filterFd: FILTER_FD, statusFd: STATUS_FD },
      ...{ passwdPath: this.#passwdPath, groupPath: this.#groupPath },
    }
    return bubblewrapArguments(program, view)
      .map((arg) => `${arg}\0`)
      .join('')
  }
}

type Streams = [null, null, null, control: Duplex, args: Writable]

/** Files that the place's user cannot read or execute are first linked or copied into the folder. */
async function findMounts(program: Program, folder: string, user: User | null): Promise<readonly Mount[]> {
  const shown = async (source: string | Buffer, target: string, isExecutable: boolean, name: string) => {
    const path = join(folder, name)
    if (typeof source !== 'string') await writeOwn(path, source, { mode: isExecutable ? 0o500 : 0o400, user })
    else if (user !== null) await shareFile(source, path, isExecutable)
    else if (isExecutable && !(await canExecute(source))) await copy(source, path, 0o755)
    else return { source, target }
    return { source: path, target }
  }
  const { executable, name, files } = program
  return [
    ...(name === null
      ? await commandMounts(executable)
      : [await shown(executable, executableTarget(program), true, 'executable')]),
    ...(await Promise.all(
      files.map((file, i) => shown(file.source, `${WORK}/${file.path}`, file.executable, `file-${i}`)),
    )),
  ]
}

/** Mounts a command that is not part of the system and, if it is a link, its target. */
async function commandMounts(path: string): Promise<Mount[]> {
  const source = await realpath(path)
  return [...new Set([path, source])]
    .filter((target) => !isInSystem(target))
    .map((target) => ({ source, target }))
}
