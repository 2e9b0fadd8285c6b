/**
 * The programs of a node: whether it can run any, which commands it offers, and the runner. The sandbox is tested at the start;
 * commands are searched for periodically.
 */
import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
import envPaths from 'env-paths'
import type { LimitValues } from '../core/action/exec-limits.ts'
import { commandLabel, EXEC_LABEL } from '../core/run/own-labels.ts'
import type { Config } from '../runtime/config/settings.ts'
import { LoopService } from '../runtime/loop-service.ts'
import { detectSandbox } from '../sandbox/detect.ts'
import type { Sandbox } from '../sandbox/sandbox.ts'
import type { Logger } from '../telemetry/logger.ts'
import { findCommands } from './allowed-commands.ts'
import { FileCache, type FileCacheOptions } from './file-cache.ts'
import type { LimitSettings } from './program-limits.ts'
import { ProgramRunner, type ProgramRunnerOptions } from './program-runner.ts'

/** Settings about programs. */
export type ProgramConfig = Pick<
  Config,
  Extract<keyof Config, `exec${string}` | `fileCache${string}`> | 'exec' | 'roles' | 'host'
>

export interface ProgramsOptions {
  readonly config: ProgramConfig
  /** Whether the API is reachable from this machine only. */
  readonly isLoopback: boolean
  /** Whether tasks may reach every private network. */
  readonly reachesPrivate: boolean
  readonly log: Logger
}

/** Whether programs can run, with a sentence for the operator. */
export interface ProgramsState {
  readonly canRun: boolean
  /** Whether the operator should pay attention to it. */
  readonly isConcern: boolean
  readonly text: string
}

/** Interval of the search for commands. */
export const LOOK_EVERY_MS = 10_000

export class Programs extends LoopService {
  readonly #options: ProgramsOptions
  readonly #listeners: (() => void)[] = []
  #sandbox: Sandbox | null = null
  #runner: ProgramRunner | null = null
  #commands: readonly string[] = []
  #state: ProgramsState = { canRun: false, isConcern: false, text: 'off' }

  constructor(options: ProgramsOptions) {
    super({ name: 'commands', everyMs: LOOK_EVERY_MS, log: options.log })
    this.#options = options
  }

  override async start(): Promise<void> {
    await this.#detect()
    if (this.#runner !== null) super.start()
  }

  override async stop(): Promise<void> {
    await super.stop()
    await this.#sandbox?.close()
  }

  get state(): ProgramsState {
    return this.#state
  }

  /** Runs programs; null if none can run. */
  get runner(): ProgramRunner | null {
    return this.#runner
  }

  /** Maximum number of concurrent programs. */
  get concurrency(): number {
    return concurrencyOf(this.#options.config)
  }

  get labels(): readonly string[] {
    return this.#runner === null ? [] : [EXEC_LABEL, ...this.#commands.map(commandLabel)]
  }

  /** Registers a listener for changes of the labels. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  async runOnce(): Promise<undefined> {
    const found = await findCommands(this.#options.config.execCommands)
    if (found.join('\n') === this.#commands.join('\n')) return
    this.#commands = found
    for (const listener of this.#listeners) listener()
  }

  async #detect(): Promise<void> {
    const { config, isLoopback, reachesPrivate, log } = this.#options
    const off = whyOff(config, isLoopback)
    if (off !== null) {
      this.#state = { canRun: false, isConcern: false, text: off }
      return
    }
    const directory = await besideCache(cacheFolder(config))
    const { sandbox, reason } = await detectSandbox({ directory, allowNone: config.execWithoutSandbox })
    this.#sandbox = sandbox
    this.#state = stateOf(sandbox, reason, config)
    if (this.#state.isConcern && config.exec === 'on') log.warn(`programs: ${this.#state.text}`)
    if (sandbox === null) return
    const { cache, ...settings } = programSettings(config, reachesPrivate)
    this.#runner = new ProgramRunner({ ...settings, sandbox, cache: new FileCache(cache) })
    await this.runOnce()
    for (const listener of this.#listeners) listener()
  }
}

/**
 * Returns why programs are off without testing the sandbox; null if they are not off. On a node that other machines can reach,
 * programs run only if its operator enables them.
 */
export function whyOff(
  { exec, roles }: Pick<ProgramConfig, 'exec' | 'roles'>,
  isLoopback: boolean,
): string | null {
  if (exec === 'on') return null
  if (exec === 'off') return 'off (--exec off)'
  if (!roles.includes('api')) return 'off on a node without the role api; to run them: --exec on'
  return isLoopback ? null : 'off beyond loopback; to run them: --exec on'
}

/** Converts the result of the detection to a state. */
export function stateOf(
  sandbox: Sandbox | null,
  reason: string | null,
  config: ProgramConfig,
): ProgramsState {
  if (sandbox === null) return { canRun: false, isConcern: true, text: `cannot run: ${reason}` }
  const places = `${concurrencyOf(config)} at once`
  if (sandbox.kind === 'none')
    return {
      canRun: true,
      isConcern: true,
      text: `run WITHOUT A SANDBOX, as the user of this process, ${places}: ${reason}`,
    }
  const { note } = sandbox.enforcement
  return {
    canRun: true,
    isConcern: note !== null,
    text: `sandboxed with bubblewrap, ${places}${note === null ? '' : `. ${note}`}`,
  }
}

/** Settings for running programs on this machine, shared by nodes and remote workers. */
export interface ProgramSettings extends Omit<ProgramRunnerOptions, 'sandbox' | 'cache'> {
  /** Folder and maximum size of the file cache. */
  readonly cache: FileCacheOptions
}

export const programSettings = (config: ProgramConfig, reachesPrivate: boolean): ProgramSettings => ({
  cache: { folder: cacheFolder(config), maxBytes: config.fileCacheBytes },
  limits: limitsOf(config),
  graceMs: config.execGraceMs,
  commands: config.execCommands,
  readable: config.execReadable,
  writable: config.execWritable,
  allowsNetwork: allowsNetwork(config, reachesPrivate),
})

const concurrencyOf = ({ execConcurrency }: ProgramConfig) => execConcurrency || availableParallelism()

/**
 * Returns root's folder for temporary data of programs. It is on the file system of the cache, so that files can be linked
 * rather than copied for the users that programs run as. Null if it cannot be created or this process is not root, which needs
 * no such folder.
 */
export async function besideCache(cache: string): Promise<string | null> {
  if (process.getuid?.() !== 0) return null
  const folder = dirname(cache)
  return mkdir(folder, { recursive: true, mode: PASSABLE }).then(
    () => folder,
    () => null,
  )
}

const PASSABLE = 0o711

const cacheFolder = ({ fileCacheDir }: ProgramConfig) =>
  fileCacheDir ??
  join(process.getuid?.() === 0 ? '/var/cache/belfry' : envPaths('belfry', { suffix: '' }).cache, 'files')

/**
 * Whether programs can use the network. The address guard does not apply to programs, so by default they get the network only
 * if tasks can reach every private network.
 */
export const allowsNetwork = (
  { execNetwork }: Pick<ProgramConfig, 'execNetwork'>,
  reachesPrivate: boolean,
) => (execNetwork === 'auto' ? reachesPrivate : execNetwork === 'allow')

/** Returns the maximum limits that tasks can set on a node that runs their programs itself; null if other workers run them. */
export const ownMaxima = (config: ProgramConfig, isLoopback: boolean): LimitValues | null =>
  config.roles.includes('worker') && whyOff(config, isLoopback) === null ? limitsOf(config).maxima : null

const limitsOf = (config: ProgramConfig): LimitSettings => ({
  defaults: {
    memoryBytes: config.execMemoryBytes,
    cpus: config.execCpus,
    processes: config.execProcesses,
    fileBytes: config.execFileBytes,
  },
  maxima: {
    memoryBytes: config.execMaxMemoryBytes,
    cpus: config.execMaxCpus || availableParallelism(),
    processes: config.execMaxProcesses,
    fileBytes: config.execMaxFileBytes,
  },
  outputBytes: config.execMaxOutputBytes,
})
