/**
 * The worker of `belfry worker`: a worker like any other that speaks HTTP to Belfry, which performs actions besides handlers. Programs run
 * in processes of their own, calls are made in this one.
 */
import type { RemoteAction } from '../core/run/own-labels.ts'
import { LOOK_EVERY_MS } from '../programs/programs.ts'
import { type GivenRun, type Performer, Worker, type WorkerOptions } from '../sdk/worker.ts'
import type { Calls } from './calls.ts'
import { isOfAction } from './given.ts'
import { Runners, type RunnersOptions } from './runners.ts'

/** What a worker performs besides handlers. */
export interface FleetOptions extends WorkerOptions {
  readonly version: string
  /** How it runs programs; null where it cannot. */
  readonly programs: Omit<RunnersOptions, 'certainForMs' | 'maxLogBytes'> | null
  /** Programs of this machine that it runs. */
  readonly commands: readonly string[]
  /** Looks for them again. */
  findCommands(): Promise<readonly string[]>
  /** How it makes calls; null where it does not. */
  readonly calls: Calls | null
  /** Belfry knows the worker. */
  onStarted(id: string): void
}

export class FleetWorker extends Worker {
  readonly #runners: Runners | null
  readonly #calls: Calls | null
  readonly #findCommands: () => Promise<readonly string[]>
  readonly #onStarted: (id: string) => void
  #commands: readonly string[]
  /** Those that Belfry knows of. */
  #told: readonly string[] = []

  constructor({ programs, commands, findCommands, calls, onStarted, ...options }: FleetOptions) {
    super(options)
    this.#onStarted = onStarted
    this.#commands = commands
    this.#findCommands = findCommands
    this.#calls = calls
    this.#runners =
      programs &&
      new Runners({
        ...programs,
        certainForMs: () => this.certainForMs,
        maxLogBytes: () => this.maxLogBytes,
      })
  }

  override async run(options: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const looking = setInterval(() => void this.#lookForCommands(), LOOK_EVERY_MS)
    try {
      await super.run(options)
    } finally {
      clearInterval(looking)
    }
  }

  protected override get isUseful(): boolean {
    return super.isUseful || this.#actions.length > 0
  }

  protected override introduction(): Record<string, unknown> {
    const actions = this.#actions
    this.#told = this.#commands
    return {
      ...super.introduction(),
      actions,
      ...(actions.includes('exec') ? { commands: this.#commands } : {}),
    }
  }

  protected override tellStarted(id: string): void {
    this.#onStarted(id)
  }

  protected override performerOf(run: GivenRun): Performer | undefined {
    if (!isOfAction(run)) return super.performerOf(run)
    const [runners, calls] = [this.#runners, this.#calls]
    if (run.action.type === 'exec')
      return runners
        ? { perform: (_: never, context) => runners.perform(run, context), abandonMs: runners.longestStopMs }
        : undefined
    return calls ? { perform: (_: never, context) => calls.perform(run, context) } : undefined
  }

  async #lookForCommands(): Promise<void> {
    if (this.#runners === null) return
    const commands = await this.#findCommands()
    this.#commands = commands
    if (commands.join('\n') !== this.#told.join('\n') && (await this.tellChange({ commands })))
      this.#told = commands
  }

  get #actions(): readonly RemoteAction[] {
    return [...(this.#runners ? (['exec'] as const) : []), ...(this.#calls ? (['http'] as const) : [])]
  }
}
