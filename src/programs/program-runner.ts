/**
 * Runs programs on this machine for attempts, on nodes and remote workers alike: prepares their files, runs them in the
 * sandbox, forwards their output as it arrives, and converts their end to an outcome.
 */
import type { ExecAction } from '../core/action/action.ts'
import type { Outcome } from '../core/run/outcome.ts'
import type { RedactingStream, Redactor } from '../core/secret/redactor.ts'
import type { StopSignal } from '../runtime/stop-signal.ts'
import type { Program, Sandbox, WorkFile } from '../sandbox/sandbox.ts'
import { isAllowed, isCommand } from './allowed-commands.ts'
import { DamagedFile, type FileCache, type WantedFile } from './file-cache.ts'
import { type ProgramIdentity, programEnvironment } from './program-environment.ts'
import { type LimitSettings, limitsOf, loweredNote } from './program-limits.ts'
import { failure, programOutcome } from './program-outcome.ts'
import { ProgramOutput } from './program-output.ts'

export interface ProgramRunnerOptions {
  readonly sandbox: Sandbox
  readonly cache: Pick<FileCache, 'get'>
  readonly limits: LimitSettings
  /** Time between SIGTERM and SIGKILL. */
  readonly graceMs: number
  /** Commands that the operator allows, and what these may read and write besides the system. */
  readonly commands: readonly string[]
  readonly readable: readonly string[]
  readonly writable: readonly string[]
  /** Whether programs that request the network get it. */
  readonly allowsNetwork: boolean
}

/** An uploaded file that a program needs. */
export interface ProgramFile extends WantedFile {
  readonly name: string
  /** Architecture that the file was compiled for; null if it does not matter. */
  readonly architecture: string | null
  /** Whether the file is executable in the work directory. */
  readonly isExecutable: boolean
}

/** Receives the output as it arrives. While a promise returned by `room` is pending, no more output is read. */
export interface OutputLog {
  write(stream: 'stdout' | 'stderr', chunk: Buffer): void
  /** Adds a line that the program did not write. */
  say(level: 'warn', message: string): void
  room(): Promise<void> | null
}

/** The attempt that a program is run for. */
export interface ProgramAttempt extends ProgramIdentity {
  readonly log: OutputLog
  /** Removes secrets from the stored output; null if there are none. */
  readonly redactor: Redactor | null
  readonly signal: StopSignal
  /** Whether another worker may already have started the run again, so that the program must end immediately. */
  isLost(): boolean
  /** Timeout; null if the caller enforces it. */
  readonly timeoutMs: number | null
}

export class ProgramRunner {
  readonly #options: ProgramRunnerOptions

  constructor(options: ProgramRunnerOptions) {
    this.#options = options
  }

  /** Runs a program. `files` has every uploaded file that the action names, by its id. */
  async run(
    action: ExecAction,
    files: ReadonlyMap<string, ProgramFile>,
    attempt: ProgramAttempt,
  ): Promise<Outcome> {
    const refusal = await this.#refusal(action, files)
    if (refusal !== null) return refusal
    const paths = await untilStopped(attempt.signal, this.#fetch(files)).catch(unfetched)
    if (paths === null) return attempt.isLost() ? LOST : STOPPED
    if ('kind' in paths) return paths
    return this.#execute(this.#programOf(action, files, paths, attempt), action, attempt)
  }

  async #refusal(
    { command, file, network }: ExecAction,
    files: ReadonlyMap<string, ProgramFile>,
  ): Promise<Outcome | null> {
    const { commands, allowsNetwork } = this.#options
    if (command !== undefined && !isAllowed(commands, command))
      return failure(
        true,
        'command_not_allowed',
        `The operator of this worker does not allow the command ${command}.`,
      )
    if (network === true && !allowsNetwork)
      return failure(
        true,
        'network_not_allowed',
        'The operator of this worker does not allow programs to use the network (--exec-network).',
      )
    if (command !== undefined && !(await isCommand(command)))
      return failure(true, 'program_missing', `This worker has no executable file ${command}.`)
    const program = file === undefined ? undefined : files.get(file)
    const architecture = program?.architecture ?? process.arch
    if (program !== undefined && architecture !== process.arch && architecture !== 'universal')
      return failure(
        false,
        'wrong_architecture',
        `${program.name} was compiled for ${architecture}, and this worker is ${process.arch}.`,
      )
    return null
  }

  /** Sequential: files in the cache take no time, and the others share a connection. */
  async #fetch(files: ReadonlyMap<string, ProgramFile>): Promise<ReadonlyMap<string, string>> {
    const paths = new Map<string, string>()
    for (const [id, file] of files) paths.set(id, await this.#options.cache.get(file))
    return paths
  }

  #programOf(
    action: ExecAction,
    files: ReadonlyMap<string, ProgramFile>,
    paths: ReadonlyMap<string, string>,
    attempt: ProgramAttempt,
  ): Program {
    const { limits, graceMs, readable, writable } = this.#options
    const { file, command, args = [], env = {}, stdin, network = false } = action
    const isCommand = command !== undefined
    return {
      executable: command ?? paths.get(file ?? '') ?? '',
      name: isCommand ? null : (files.get(file ?? '')?.name ?? 'program'),
      args,
      env: { ...env, ...programEnvironment(attempt) },
      stdin: stdin === undefined ? null : typeof stdin === 'string' ? stdin : JSON.stringify(stdin),
      files: (action.files ?? []).map(
        (one): WorkFile =>
          'content' in one
            ? { path: one.path, source: Buffer.from(one.content), executable: false }
            : {
                path: one.path,
                source: paths.get(one.file) ?? '',
                executable: files.get(one.file)?.isExecutable ?? false,
              },
      ),
      // Paths that the operator shares are only for the operator's own commands.
      readable: isCommand ? readable : [],
      writable: isCommand ? writable : [],
      network,
      limits: limitsOf(action.limits, limits),
      timeoutMs: attempt.timeoutMs,
      graceMs,
    }
  }

  async #execute(program: Program, action: ExecAction, attempt: ProgramAttempt): Promise<Outcome> {
    const { log, signal } = attempt
    const kept = new KeptOutput(attempt.redactor)
    const lowered = loweredNote(action.limits, this.#options.limits)
    if (lowered !== null) log.say('warn', lowered)
    const end = await this.#options.sandbox.run(program, {
      onOutput: (stream, chunk) => {
        kept.push(stream, chunk)
        log.write(stream, chunk)
        return log.room() ?? undefined
      },
      signal,
      isUrgent: () => attempt.isLost(),
    })
    if (end.cause === 'stopped' && attempt.isLost()) return LOST
    const output = kept.end()
    const { memoryBytes, outputBytes } = program.limits
    return programOutcome({
      end,
      exitCodes: action.exitCodes,
      memoryBytes,
      outputBytes,
      output: end.exitCode === null ? undefined : output.end(end),
      lastError: output.lastError,
    })
  }
}

/** Collects the output with secrets redacted. Redaction happens before truncation, which could cut a secret in two. */
class KeptOutput {
  readonly #output = new ProgramOutput()
  readonly #streams: Readonly<Record<'stdout' | 'stderr', RedactingStream>> | null

  constructor(redactor: Redactor | null) {
    this.#streams = redactor && { stdout: redactor.stream(), stderr: redactor.stream() }
  }

  push(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#output.push(stream, this.#streams?.[stream].push(chunk) ?? chunk)
  }

  end(): ProgramOutput {
    for (const stream of ['stdout', 'stderr'] as const) {
      const rest = this.#streams?.[stream].end()
      if (rest) this.#output.push(stream, rest)
    }
    return this.#output
  }
}

/** Returns the result of `work`; null as soon as the signal fires. */
function untilStopped<T>(signal: StopSignal, work: Promise<T>): Promise<T | null> {
  if (signal.aborted) {
    work.catch(() => {})
    return Promise.resolve(null)
  }
  return new Promise((resolve, reject) => {
    const stop = () => resolve(null)
    signal.addEventListener('abort', stop)
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop))
  })
}

/** A program stopped because the lease may be lost has not failed. */
const LOST: Outcome = { kind: 'lease_lost' }

const STOPPED = failure(true, 'worker_stopped', 'The program was stopped before it was started.')

/** Outcome if files cannot be provided: the disk is full, or the stored content is damaged. */
function unfetched(error: unknown): Outcome {
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof DamagedFile)
    return failure(true, 'file_damaged', `A file of the program is damaged: ${message}.`)
  return failure(true, 'file_unavailable', `A file of the program could not be prepared: ${message}`)
}
