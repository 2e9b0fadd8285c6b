/** Workers of programs, as the tests see them, and programs for them. */
import { type ChildProcess, fork } from 'node:child_process'
import {
  chmodSync,
  closeSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { inject } from 'vitest'
import type { Enforcement, Program, ProgramEnd, ProgramLimits } from '../../../src/sandbox/sandbox.ts'
import { ensureBubblewrap } from '../../support/bubblewrap.ts'
import { whenDone } from '../../support/cleanup.ts'
import { whenFileEnds } from '../../support/file-end.ts'
import type { Answer, Question, WorkerOptions } from './program-worker.ts'

const NOBODY = 65_534
const MIB = 1_024 ** 2
/** In the environment of each worker, and in no program. */
export const SECRET = 'the-token-of-the-worker'
export const LIMITS: ProgramLimits = {
  ...{ memoryBytes: 256 * MIB, cpus: 1, processes: 64, openFiles: 256 },
  ...{ fileBytes: 16 * MIB, outputBytes: 4 * MIB },
}
/** On a busy machine everything takes longer; nothing waits for it. */
const TIMEOUT_MS = 60_000
const GRACE_MS = 5_000

/** The same worker as different users. Whoever is not root can only be themselves. */
export const USERS: readonly { readonly user: string; readonly uid: number | null }[] =
  process.getuid?.() === 0
    ? [
        { user: 'root', uid: null },
        { user: 'an ordinary user', uid: NOBODY },
      ]
    : [{ user: 'an ordinary user', uid: null }]

export interface Outcome {
  readonly end: ProgramEnd
  readonly stdout: Buffer
  readonly stderr: Buffer
}

export interface Running {
  readonly outcome: Promise<Outcome>
  /** Resolves when it has written this much. */
  said(text: string): Promise<void>
  stop(): void
  /** Lets output that was held back be heard. */
  goOn(): void
  /** What it has said so far. */
  readonly stderr: string
}

/** What a program is, in whatever language is shortest. */
export type Script =
  | { readonly sh: string }
  | { readonly node: string }
  | { readonly bytes: Buffer }
  /** A command of this machine. */
  | { readonly path: string }

export type Wanted = Script &
  Partial<Omit<Program, 'limits' | 'executable'>> & { readonly limits?: Partial<ProgramLimits> }

export interface ProgramWorker {
  readonly child: ChildProcess
  readonly enforcement: Enforcement
  /** The folder in which the worker keeps what it needs for programs. */
  readonly directory: string
  /** A file that the worker has open under two numbers, without meaning to. */
  readonly openFile: string
  /** The file of the program that was started last. */
  readonly lastScript: string
  start(wanted: Wanted, options?: { readonly isSlow?: boolean }): Running
  run(wanted: Wanted): Promise<Outcome>
  runCommand(path: string, args: readonly string[]): Promise<Outcome>
  close(): Promise<void>
}

let bundled: Promise<string> | null = null
whenFileEnds(async () => {
  bundled = null
})

/** A folder that every user can read. */
export function aFolder(): string {
  const folder = mkdtempSync(join(inject('scratch'), 'programs-'))
  chmodSync(folder, 0o755)
  return folder
}

export async function startWorker(
  uid: number | null,
  kind: WorkerOptions['kind'] = 'bubblewrap',
  directory = aFolder(),
): Promise<ProgramWorker> {
  await ensureBubblewrap()
  bundled ??= bundleWorker()
  if (uid !== null) chmodSync(directory, 0o777)
  const openFile = join(directory, 'open-file')
  writeFileSync(openFile, 'untouched')
  const left = openSync(openFile, 'r+')
  const child = fork(await bundled, {
    execArgv: [],
    env: { PATH: process.env['PATH'] ?? '', BELFRY_TEST_SECRET: SECRET },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', left, ...Array(7).fill('ignore'), left],
    ...(uid === null ? {} : { uid, gid: uid }),
  })
  closeSync(left)
  whenDone(() => void child.kill('SIGKILL'))
  const worker = new Remote(child, directory, openFile)
  await worker.open({ directory, kind })
  return worker
}

class Remote implements ProgramWorker {
  readonly child: ChildProcess
  readonly directory: string
  readonly openFile: string
  enforcement = {} as Enforcement
  lastScript = ''
  readonly #scripts = aFolder()
  readonly #listeners = new Set<(answer: Answer) => void>()
  #count = 0

  constructor(child: ChildProcess, directory: string, openFile: string) {
    this.child = child
    this.directory = directory
    this.openFile = openFile
    child.on('message', (answer: Answer) => {
      for (const listener of this.#listeners) listener(answer)
    })
  }

  async open(options: WorkerOptions): Promise<void> {
    const opened = this.#answer((answer) => (answer.type === 'opened' ? answer : null))
    this.#ask({ type: 'open', options })
    const { reason, enforcement } = await opened
    if (reason !== null) throw new Error(reason)
    this.enforcement = enforcement as Enforcement
  }

  run(wanted: Wanted): Promise<Outcome> {
    return this.start(wanted).outcome
  }

  runCommand(path: string, args: readonly string[]): Promise<Outcome> {
    return this.run({ path, name: null, args })
  }

  start(wanted: Wanted, { isSlow = false } = {}): Running {
    const id = this.#count
    this.#count += 1
    const { limits, stdin = null, name = 'program', ...rest } = wanted
    const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] }
    const hear = (answer: Answer) => {
      if (answer.type !== 'output' || answer.id !== id) return
      const chunk = Buffer.from(answer.bytes, 'base64')
      output[answer.stream].push(chunk)
    }
    this.#listeners.add(hear)
    const ended = this.#answer((answer) => (answer.type === 'ended' && answer.id === id ? answer : null))
    const read = (stream: 'stdout' | 'stderr') => Buffer.concat(output[stream])
    this.#ask({
      type: 'run',
      ...{ id, isSlow },
      program: {
        ...{ args: [], env: {}, files: [], network: false, timeoutMs: TIMEOUT_MS, graceMs: GRACE_MS },
        ...scriptless(rest),
        readable: [...nodeFolder(), ...(wanted.readable ?? [])],
        executable: this.#write(id, wanted),
        name,
        limits: { ...LIMITS, ...limits },
        stdin: stdin === null ? null : Buffer.from(stdin).toString('base64'),
      },
    })
    return {
      outcome: ended.then(({ end }) => {
        this.#listeners.delete(hear)
        return { end, stdout: read('stdout'), stderr: read('stderr') }
      }),
      said: (text) =>
        this.#answer(() => (`${read('stdout')}${read('stderr')}`.includes(text) ? true : null)).then(
          () => undefined,
        ),
      stop: () => this.#ask({ type: 'stop', id }),
      goOn: () => this.#ask({ type: 'go on', id }),
      get stderr() {
        return read('stderr').toString()
      },
    }
  }

  async close(): Promise<void> {
    const exited = new Promise((resolve) => this.child.once('exit', resolve))
    this.#ask({ type: 'close' })
    await exited
  }

  #write(id: number, script: Script): string {
    if ('path' in script) return script.path
    const path = join(this.#scripts, String(id))
    const text =
      'sh' in script
        ? `#!/bin/sh\n${script.sh}\n`
        : 'node' in script
          ? `#!${process.execPath}\n${script.node}\n`
          : script.bytes
    writeFileSync(path, text, { mode: 0o755 })
    this.lastScript = path
    return path
  }

  #ask(question: Question): void {
    this.child.send(question)
  }

  #answer<T>(pick: (answer: Answer) => T | null): Promise<T> {
    return new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('the worker ended'))
      const listener = (answer: Answer) => {
        const picked = pick(answer)
        if (picked === null) return
        this.#listeners.delete(listener)
        this.child.off('exit', onExit)
        resolve(picked)
      }
      this.child.once('exit', onExit)
      this.#listeners.add(listener)
    })
  }
}

function scriptless<T extends object>(wanted: T): Omit<T, 'sh' | 'node' | 'bytes' | 'path'> {
  const {
    sh: _sh,
    node: _node,
    bytes: _bytes,
    ...rest
  } = wanted as T & Record<'sh' | 'node' | 'bytes' | 'path', unknown>
  return rest as Omit<T, 'sh' | 'node' | 'bytes' | 'path'>
}

/** Where Node.js is, if that is not part of the system. */
const nodeFolder = () => (process.execPath.startsWith('/usr/') ? [] : [dirname(dirname(process.execPath))])

async function bundleWorker(): Promise<string> {
  const outfile = join(aFolder(), 'program-worker.mjs')
  await build({
    entryPoints: [fileURLToPath(new URL('program-worker.ts', import.meta.url))],
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'warning' },
  })
  return outfile
}

/** Processes that have a text in their environment or arguments. */
export function processesWith(mark: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => ['environ', 'cmdline'].some((file) => read(`/proc/${pid}/${file}`).includes(mark)))
    .map(Number)
}

/** Cgroups that a worker has made for programs, in all hierarchies. */
export function cgroupsOf({ child }: ProgramWorker): string[] {
  return readdirSync('/sys/fs/cgroup', { recursive: true, withFileTypes: true })
    .filter(
      (entry) => entry.isDirectory() && new RegExp(`^belfry-programs-\\d+-${child.pid}-`).test(entry.name),
    )
    .map(({ name }) => name)
}

/** What the worker has on disk for programs that run. */
export function attemptsOnDisk(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => name.startsWith('belfry-programs-'))
    .flatMap((name) => readdirSync(join(directory, name)).filter((inside) => inside.startsWith('run-')))
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
