/**
 * The worker of `belfry worker`: a remote worker that performs actions in addition to handlers. Programs run in separate
 * processes, calls in this one.
 */
import type { RemoteAction } from '../core/run/own-labels.ts'
import { LOOK_EVERY_MS } from '../programs/programs.ts'
import { type GivenRun, type Performer, Worker, type WorkerOptions } from '../sdk/worker.ts'
import type { Calls } from './calls.ts'
import { isOfAction } from './given.ts'
import { Runners, type RunnersOptions } from './runners.ts'

/** Options for performing actions in addition to handlers. */
export interface FleetOptions extends WorkerOptions {
  readonly version: string
  /** How to run programs; null if the worker does not run them. */
  readonly programs: Omit<RunnersOptions, 'certainForMs' | 'maxLogBytes'> | null
  /** Commands of this machine that tasks can run. */
  readonly commands: readonly string[]
  /** Searches for the commands again. */
  findCommands(): Promise<readonly string[]>
  /** Makes calls; null if the worker does not make them. */
  readonly calls: Calls | null
  /** Called once Belfry has registered the worker. */
  onStarted(id: string): void
}

export class FleetWorker extends Worker {
  readonly #runners: Runners | null
  readonly #calls: Calls | null
  readonly #findCommands: () => Promise<readonly string[]>
  readonly #onStarted: (id: string) => void
  #commands: readonly string[]
  /** The commands last reported to Belfry. */
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
