/**
 * Runs programs that nobody vouches for. A sandbox takes a program and limits, passes its output on while it runs, and answers
 * with how it ended. When `run` resolves, nothing that the program started is left: no process, no file, no cgroup.
 *
 * There are two kinds. `bubblewrap` shows the program a read-only system and nothing else of the machine; `none` only limits it and
 * ends it, and runs it as the user of this process. Which of the two a node may use is decided by `detectSandbox` and the operator.
 */

import type { StopSignal } from '../runtime/stop-signal.ts'

/** What to run, what it may use, and for how long. */
export interface Program {
  /** The absolute path of an executable file on this machine. */
  readonly executable: string
  /**
   * The file name under which the program sees an uploaded executable, in `/program`. Null for a command of this machine, which
   * is run where it is.
   */
  readonly name: string | null
  readonly args: readonly string[]
  /** Added to the few variables that every program has (`PATH`, `HOME`, `TMPDIR`, `LANG`, `USER`); replaces them where named. */
  readonly env: Readonly<Record<string, string>>
  /** What it reads from standard input; null is an empty input. */
  readonly stdin: Buffer | string | null
  readonly files: readonly WorkFile[]
  /** Absolute paths that the program may read besides the system, under the same names. */
  readonly readable: readonly string[]
  /** The same for paths that it may also write to, as far as the user it runs as may. */
  readonly writable?: readonly string[]
  /** Whether it may use the network of this machine. Without it, there is only a loopback interface of its own. */
  readonly network: boolean
  readonly limits: ProgramLimits
  /** How long it may run; null when whoever started it sets no limit. */
  readonly timeoutMs: number | null
  /** The time between SIGTERM and SIGKILL when it must stop. */
  readonly graceMs: number
}

/** A file in the work directory. The program can read it, not change it. */
export interface WorkFile {
  /** Relative to the work directory: no `..`, no leading `/`. */
  readonly path: string
  /** The absolute path of the content on this machine, or the content itself. */
  readonly source: string | Buffer
  readonly executable: boolean
}

/** What a program may use at most. `Enforcement` says which of these a machine can hold it to. */
export interface ProgramLimits {
  /** Of all its processes together, including what it writes to its work directory and `/tmp`. */
  readonly memoryBytes: number
  /** How many processors it may keep busy; 0.5 is half of one. */
  readonly cpus: number
  /** Processes and threads at the same time. */
  readonly processes: number
  /** The largest file, and everything in the work directory and `/tmp` together. */
  readonly fileBytes: number
  /** Open files of each process. */
  readonly openFiles: number
  /** Standard output and standard error together; a program that writes more is stopped. */
  readonly outputBytes: number
}

/** How a program ended. */
export interface ProgramEnd {
  readonly cause: EndCause
  /** As a shell reports it: 128 + n when signal n ended the program. Null if it was not started. */
  readonly exitCode: number | null
  /** The name of the signal, such as `SIGKILL`, when the exit code is 128 + n. */
  readonly signal: string | null
  /** Why it ended, as a sentence; null when it exited by itself. */
  readonly message: string | null
  readonly durationMs: number
  /** The most memory that it used at once, and its processor time; null where the machine does not count them. */
  readonly peakMemoryBytes: number | null
  readonly cpuMs: number | null
}

export type EndCause =
  /** By itself or by a signal that did not come from here. */
  | 'exited'
  /** It ran longer than `timeoutMs`. */
  | 'timed_out'
  /** The stop signal fired. */
  | 'stopped'
  /** It used more than `memoryBytes`. */
  | 'memory'
  /** It wrote more than `outputBytes`. */
  | 'output'
  /** The file cannot be executed, here or on any machine like this one: starting it again would change nothing. */
  | 'not_executable'
  /** This machine could not start it. */
  | 'spawn_failed'

export type OutputStream = 'stdout' | 'stderr'

/** How the caller receives the output of a program and can stop it. */
export interface RunOptions {
  /**
   * Called with each piece of output, in the order of its stream. While a promise that it returned is pending, nothing more is
   * read of that stream, and a program that goes on writing waits.
   */
  readonly onOutput: (stream: OutputStream, chunk: Buffer) => void | Promise<void>
  /** Ends the program: SIGTERM, then SIGKILL after `graceMs`. */
  readonly signal: StopSignal
  /** Asked when the signal fires: whether there is no time for grace. */
  readonly isUrgent?: () => boolean
}

/** A place to run programs in, any number at the same time. */
export interface Sandbox {
  readonly kind: 'bubblewrap' | 'none'
  /** How each limit is enforced on this machine. */
  readonly enforcement: Enforcement
  /** Never rejects because of the program. */
  run(program: Program, options: RunOptions): Promise<ProgramEnd>
  /** Removes what it keeps on disk, once no program runs any more. */
  close(): Promise<void>
}

/** What holds a program to each limit; null where nothing does. */
export interface Enforcement {
  readonly memory: 'cgroup' | 'process' | null
  readonly cpus: 'cgroup' | 'time' | null
  readonly processes: 'cgroup' | 'rlimit' | null
  readonly files: 'tmpfs' | 'rlimit' | null
  /** What is missing, and what an operator can do about it, as a sentence; null when all limits hold for the whole program. */
  readonly note: string | null
}
