/**
 * The worker of `belfry worker`: a worker like any other that speaks HTTP to Belfry, which performs actions besides handlers. Programs run
 * in processes of their own, calls are made in this one.
 */
import type { RemoteAction } from '../core/run/own-labels.ts'
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
  /** How it makes calls; null where it does not. */
  readonly calls: Calls | null
  /** Belfry knows the worker. */
  onStarted(id: string): void
}

export class FleetWorker extends Worker {
  readonly #runners: Runners | null
  readonly #calls: Calls | null
  readonly #commands: readonly string[]
  readonly #onStarted: (id: string) => void

  constructor({ programs, commands, calls, onStarted, ...options }: FleetOptions) {
    super(options)
    this.#onStarted = onStarted
    this.#commands = commands
    this.#calls = calls
    this.#runners =
      programs &&
      new Runners({
        ...programs,
        certainForMs: () => this.certainForMs,
        maxLogBytes: () => this.maxLogBytes,
      })
  }

  protected override get isUseful(): boolean {
    return super.isUseful || this.#actions.length > 0
  }

  protected override introduction(): Record<string, unknown> {
    const actions = this.#actions
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

  get #actions(): readonly RemoteAction[] {
    return [...(this.#runners ? (['exec'] as const) : []), ...(this.#calls ? (['http'] as const) : [])]
  }
}
