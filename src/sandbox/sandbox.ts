/**
 * Runs untrusted programs. A sandbox takes a program and limits, forwards its output while it runs, and returns how it ended.
 * When `run` resolves, nothing that the program started is left: no process, no file, no cgroup.
 *
 * There are two kinds. `bubblewrap` shows the program a read-only system and nothing else of the machine; `none` only limits
 * the program and ends it, and runs it as the user of this process. `detectSandbox` and the operator decide which of the two a
 * node uses.
 */

import type { StopSignal } from '../runtime/stop-signal.ts'

/** A program, its permissions and its limits. */
export interface Program {
  /** The absolute path of an executable file on this machine. */
  readonly executable: string
  /**
   * File name of an uploaded executable inside the sandbox, in `/program`. Null for a command of this machine, which is
   * executed at its own path.
   */
  readonly name: string | null
  readonly args: readonly string[]
  /** Added to the default variables of every program (`PATH`, `HOME`, `TMPDIR`, `LANG`, `USER`), which it can override. */
  readonly env: Readonly<Record<string, string>>
  /** Standard input; null for an empty input. */
  readonly stdin: Buffer | string | null
  readonly files: readonly WorkFile[]
  /** Absolute paths that the program can read besides the system, at the same paths inside the sandbox. */
  readonly readable: readonly string[]
  /** Like `readable`, for paths that the program can also write to, if the user it runs as has permission. */
  readonly writable?: readonly string[]
  /** Whether the program can use the network of this machine. Otherwise it has only a loopback interface of its own. */
  readonly network: boolean
  readonly limits: ProgramLimits
  /** Timeout; null if the caller sets none. */
  readonly timeoutMs: number | null
  /** Time between SIGTERM and SIGKILL when the program is stopped. */
  readonly graceMs: number
}

/** A file in the work directory. The program can read it, not change it. */
export interface WorkFile {
  /** Path relative to the work directory: no `..`, no leading `/`. */
  readonly path: string
  /** The absolute path of the content on this machine, or the content itself. */
  readonly source: string | Buffer
  readonly executable: boolean
}

/** Resource limits of a program. `Enforcement` describes which of them the machine can enforce. */
export interface ProgramLimits {
  /** Memory of all its processes together, including files in its work directory and `/tmp`. */
  readonly memoryBytes: number
  /** Number of processors that the program can keep busy; 0.5 is half a processor. */
  readonly cpus: number
  /** Maximum number of concurrent processes and threads. */
  readonly processes: number
  /** Maximum size of a file, and of the work directory and `/tmp` together. */
  readonly fileBytes: number
  /** Maximum number of open files per process. */
  readonly openFiles: number
  /** Maximum size of standard output and standard error together; a program that exceeds it is stopped. */
  readonly outputBytes: number
}

/** How a program ended. */
export interface ProgramEnd {
  readonly cause: EndCause
  /** Exit code as a shell reports it: 128 + n if signal n ended the program. Null if the program did not start. */
  readonly exitCode: number | null
  /** Name of the signal, such as `SIGKILL`, if the exit code is 128 + n; null otherwise. */
  readonly signal: string | null
  /** Why the program ended, as a sentence; null if it exited by itself. */
  readonly message: string | null
  readonly durationMs: number
  /** Peak memory and processor time; null if the machine does not measure them. */
  readonly peakMemoryBytes: number | null
  readonly cpuMs: number | null
}

export type EndCause =
  /** It ended by itself or by a signal that this process did not send. */
  | 'exited'
  /** It ran longer than `timeoutMs`. */
  | 'timed_out'
  /** The stop signal fired. */
  | 'stopped'
  /** It used more than `memoryBytes`. */
  | 'memory'
  /** It wrote more than `outputBytes`. */
  | 'output'
  /** The file cannot be executed on this or any similar machine: another attempt would fail too. */
  | 'not_executable'
  /** This machine could not start the program. */
  | 'spawn_failed'

export type OutputStream = 'stdout' | 'stderr'

/** Receives the output of a program, and can stop it. */
export interface RunOptions {
  /**
   * Called with each piece of output, in order per stream. While a returned promise is pending, nothing more is read from that
   * stream, so a program that continues to write is blocked.
   */
  readonly onOutput: (stream: OutputStream, chunk: Buffer) => void | Promise<void>
  /** Ends the program: SIGTERM, then SIGKILL after `graceMs`. */
  readonly signal: StopSignal
  /** Called when the signal fires: whether to kill the program without a grace period. */
  readonly isUrgent?: () => boolean
}

/** Runs any number of programs concurrently. */
export interface Sandbox {
  readonly kind: 'bubblewrap' | 'none'
  /** How each limit is enforced on this machine. */
  readonly enforcement: Enforcement
  /** Never rejects because of the program. */
  run(program: Program, options: RunOptions): Promise<ProgramEnd>
  /** Deletes the sandbox's files. Call it after all programs have ended. */
  close(): Promise<void>
}

/** The mechanism that enforces each limit; null if the limit is not enforced. */
export interface Enforcement {
  readonly memory: 'cgroup' | 'process' | null
  readonly cpus: 'cgroup' | 'time' | null
  readonly processes: 'cgroup' | 'rlimit' | null
  readonly files: 'tmpfs' | 'rlimit' | null
  /** A sentence about what is missing and how an operator can fix it; null if all limits apply to the program as a whole. */
  readonly note: string | null
}
