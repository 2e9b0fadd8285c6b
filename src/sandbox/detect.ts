/** Determines by trial which sandbox this machine supports. */

import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findSystem } from './bubblewrap/arguments.ts'
import { BubblewrapSandbox } from './bubblewrap/bubblewrap-sandbox.ts'
import { Cgroups, enforcedBy } from './cgroups/cgroups.ts'
import { canExecute } from './executable.ts'
import { findLauncherShell, type LauncherShell } from './inherited.ts'
import { ownFirstUid } from './places.ts'
import { chooseBase, makeProgramFolder } from './program-folder.ts'
import type { Enforcement, Program, ProgramLimits, Sandbox } from './sandbox.ts'
import { isFiltered, seccompFilter } from './seccomp/filter.ts'
import { Unsandboxed } from './unsandboxed.ts'

/** Options of the detection. */
export interface DetectOptions {
  /**
   * Where to create the folder of this process, preferably on the file system of the programs, so that they need not be copied.
   * If null, or not accessible to the users of programs, the system's temporary folder is used.
   */
  readonly directory: string | null
  /** Whether programs can run without a sandbox if none works. */
  readonly allowNone: boolean
  /** Whether another process of this program has already tested the sandbox on this machine, so that the test is skipped. */
  readonly isTried?: boolean
}

/** Result of the detection. */
export interface Detected {
  /** Null if programs cannot run on this machine. */
  readonly sandbox: Sandbox | null
  /** Why there is no sandbox, and what to do about it; null when there is one. */
  readonly reason: string | null
  /** The requested directory if programs can be executed there; null otherwise. */
  readonly directory: string | null
}

const BWRAP_PATHS = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap']
/** The first version with `--size`, and the oldest one that is tested. */
const OLDEST_BWRAP = [0, 8, 0] as const
const VERSION_MS = 10_000
const PROBE_MS = 30_000
const PROBE_LIMITS: ProgramLimits = {
  ...{ memoryBytes: 64 * 1_024 ** 2, cpus: 1, processes: 16, openFiles: 64 },
  ...{ fileBytes: 1_024 ** 2, outputBytes: 64 * 1_024 },
}
const DELEGATE =
  'Run the worker in its own delegated cgroup: set Delegate=yes in its systemd unit, or use systemd-run --user --scope -p Delegate=yes.'

export async function detectSandbox({
  directory,
  allowNone,
  isTried = false,
}: DetectOptions): Promise<Detected> {
  const shell = findLauncherShell()
  const found =
    typeof shell === 'string'
      ? shell
      : await openBubblewrap({ directory, shell, cgroups: await openCgroups(), isTried })
  if (typeof found !== 'string') return { ...found, reason: null }
  return { sandbox: allowNone ? await openUnsandboxed(directory) : null, reason: found, directory }
}

/** Opens a sandbox that only enforces limits; null if even limits are not supported. */
export async function openUnsandboxed(directory: string | null): Promise<Sandbox | null> {
  const shell = findLauncherShell()
  if (process.platform === 'win32' || typeof shell === 'string') return null
  const cgroups = await openCgroups()
  const folder = await makeProgramFolder(await chooseBase(directory, false))
  return new Unsandboxed({
    folder,
    cgroups,
    shell,
    enforcement: describe(cgroups, { processes: null, files: 'rlimit' }),
  })
}

const openCgroups = async () => (process.platform === 'linux' ? Cgroups.open(PROBE_LIMITS) : null)

interface BubblewrapNeeds {
  readonly directory: string | null
  readonly shell: LauncherShell
  readonly cgroups: Cgroups | null
  readonly isTried: boolean
}

/** Returns the sandbox, or why there is none. */
async function openBubblewrap({
  directory,
  shell,
  cgroups,
  isTried,
}: BubblewrapNeeds): Promise<Pick<Detected, 'sandbox' | 'directory'> | string> {
  if (process.platform !== 'linux') return 'Programs are sandboxed on Linux only.'
  if (!isFiltered(process.arch))
    return `There is no system call filter for this processor (${process.arch}); x64 and arm64 have one.`
  const bwrap = await firstExecutable(BWRAP_PATHS)
  if (bwrap === null)
    return (
      'bubblewrap is not installed. On Debian and Ubuntu: apt-get install bubblewrap. On Fedora: dnf install bubblewrap. ' +
      'On Alpine: apk add bubblewrap.'
    )
  const version = isTried ? OLDEST_BWRAP : await versionOf(bwrap)
  if (version === null || isOlder(version, OLDEST_BWRAP))
    return `${bwrap} is version ${version?.join('.') ?? 'unknown'}; version ${OLDEST_BWRAP.join('.')} or newer is needed.`
  const firstUid = ownFirstUid()
  const folder = await makeProgramFolder(await chooseBase(directory, firstUid !== null))
  const sandbox = await BubblewrapSandbox.open({
    ...{ bwrap, folder, cgroups, shell, firstUid },
    system: await findSystem(),
    filter: seccompFilter(process.arch),
    enforcement: describe(cgroups, { processes: 'rlimit', files: 'tmpfs' }),
  })
  const complaint = isTried ? null : await probe(sandbox, folder)
  if (complaint === null) return { sandbox, directory }
  await sandbox.close()
  // The directory's file system may not allow execution.
  if (directory !== null) return openBubblewrap({ directory: null, shell, cgroups, isTried })
  return explain(complaint, folder)
}

/**
 * Runs a script in the sandbox, which exercises everything that programs need: namespaces, mounts, filter, limits. Returns what
 * failed; null if it worked.
 */
async function probe(sandbox: Sandbox, folder: string): Promise<string | null> {
  const executable = join(folder, 'probe')
  await writeFile(executable, '#!/bin/sh\ntest -w /tmp && echo fine\n', { mode: 0o755 })
  const program: Program = {
    ...{ executable, name: 'probe', args: [], env: {}, stdin: null, files: [], readable: [], network: false },
    ...{ limits: PROBE_LIMITS, timeoutMs: PROBE_MS, graceMs: 0 },
  }
  let said = ''
  const end = await sandbox.run(program, {
    onOutput: (_, chunk) => {
      said += chunk.toString('utf8')
    },
    signal: new AbortController().signal,
  })
  if (end.exitCode === 0 && said === 'fine\n') return null
  return end.message ?? (said.trim() || `the probe ended with exit code ${end.exitCode}`)
}

/** Adds the usual cause to an error message of bubblewrap. */
async function explain(complaint: string, folder: string): Promise<string> {
  const said = `bubblewrap cannot run programs here: ${complaint.replace(/\.?$/, '.')}`
  if (/permission denied/i.test(complaint) && complaint.includes('/program/'))
    return `${said} The file system of ${folder} may be mounted with noexec.`
  const restricted = await readFile('/proc/sys/kernel/apparmor_restrict_unprivileged_userns', 'latin1').catch(
    () => '0',
  )
  if (restricted.trim() === '1')
    return (
      `${said} AppArmor restricts user namespaces on this machine: install a profile that allows them for ` +
      'bwrap (on Ubuntu, the package apparmor-profiles has one), or set kernel.apparmor_restrict_unprivileged_userns=0.'
    )
  return (
    `${said} User namespaces must be allowed: sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces > 0. ` +
    'In a container they need a seccomp profile that allows them and an unmasked /proc.'
  )
}

function describe(
  cgroups: Cgroups | null,
  { processes, files }: Pick<Enforcement, 'processes' | 'files'>,
): Enforcement {
  const enforced = enforcedBy(cgroups)
  const missing = [
    ...(enforced.memory ? [] : ['memory']),
    ...(enforced.processes ? [] : ['processes']),
    ...(enforced.cpus ? [] : ['processors']),
  ]
  return {
    memory: enforced.memory ? 'cgroup' : 'process',
    cpus: enforced.cpus ? 'cgroup' : 'time',
    processes: enforced.processes ? 'cgroup' : processes,
    files,
    note:
      missing.length === 0
        ? null
        : `No cgroup limits ${missing.join(', ')}; weaker limits of single processes are used. ${DELEGATE}`,
  }
}

async function firstExecutable(paths: readonly string[]): Promise<string | null> {
  for (const path of paths) if (await canExecute(path)) return path
  return null
}

async function versionOf(bwrap: string): Promise<readonly number[] | null> {
  const { stdout } = await promisify(execFile)(bwrap, ['--version'], { env: {}, timeout: VERSION_MS }).catch(
    () => ({ stdout: '' }),
  )
  const [, major, minor, patch = '0'] = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(stdout) ?? []
  return major === undefined ? null : [major, minor, patch].map(Number)
}

/** Compares part by part. */
export function isOlder(version: readonly number[], than: readonly number[]): boolean {
  const at = than.findIndex((part, i) => part !== (version[i] ?? 0))
  return at !== -1 && (version[at] ?? 0) < (than[at] ?? 0)
}
