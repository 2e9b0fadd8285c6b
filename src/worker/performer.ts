/** Performs attempts, and decides by the outcome of each how its run continues. */
import { isLarge } from '../core/action/action.ts'
import { uuidv7 } from '../core/ids.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { type EndedAttempt, judge } from '../outcomes/judgement.ts'
import type { OutcomeWriter } from '../outcomes/outcome-writer.ts'
import { type CallResult, callResultOf } from '../outgoing/targets/call-result.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Work } from '../transport/transport.ts'
import type { Attempt } from './attempt.ts'
import type { Executor } from './executor.ts'
import type { LargeActions } from './large-actions.ts'

/** Where actions are performed and outcomes go. */
export interface PerformerOptions {
  readonly executor: Executor
  readonly large: LargeActions
  readonly writer: OutcomeWriter
  readonly log: Logger
  /** Returns a run unchanged, for any node to take. */
  giveBack(work: Work): void
}

/** Errors that concern this node and perhaps no other: no sockets left, no key for a secret, or no answer from the database. */
const OWN_SHORTAGES: readonly string[] = ['worker_exhausted', 'secrets_unavailable', 'settings_unavailable']

/** An error with details occurred after a redirect was followed, so it counts as an attempt. */
const isOwnShortage = (outcome: Outcome) =>
  outcome.kind === 'failed' &&
  OWN_SHORTAGES.includes(outcome.error.code) &&
  outcome.error.detail === undefined

export class Performer {
  readonly #options: PerformerOptions

  constructor(options: PerformerOptions) {
    this.#options = options
  }

  /** Performs an attempt. Returns nothing if it was abandoned, or if its run was returned because its action cannot be read. */
  perform(attempt: Attempt): Promise<EndedAttempt | undefined> {
    const { action } = attempt.work.definition
    return isLarge(action) ? this.#performLarge(attempt) : attempt.perform(this.#options.executor, action)
  }

  /**
   * Performs a run whose large action is read only now that it has a slot. If the action cannot be read, the run returns
   * unchanged.
   */
  async #performLarge(attempt: Attempt): Promise<EndedAttempt | undefined> {
    const { work } = attempt
    const { executor, large } = this.#options
    try {
      const action = await large.read(attempt)
      if (action || attempt.isOver) return await attempt.perform(executor, action)
      this.#options.giveBack(work)
      return undefined
    } finally {
      large.release(work)
    }
  }

  /** Writes how the run continues. The run is returned instead if this node lacked something that others may have. */
  settle(attempt: Attempt, ended: EndedAttempt): void {
    if (isOwnShortage(ended.outcome)) this.#postpone(attempt.work, ended.outcome)
    else this.#judge(attempt, ended)
  }

  #judge(attempt: Attempt, ended: EndedAttempt): void {
    const { log, writer } = this.#options
    const judgement = judge(ended, Math.random, uuidv7)
    writer.add(judgement)
    const { outcome, work } = ended
    const level = outcome.kind === 'completed' ? 'debug' : 'info'
    if (!log.isLevelEnabled(level)) return
    const error = 'error' in outcome ? outcome.error : undefined
    const trace = attempt.traceparent.split('-')[1]
    log[level](
      {
        task: work.taskId,
        run: work.runId,
        attempt: work.attempt,
        fence: work.fence,
        trace,
        ...(attempt.tracingId === null ? {} : { tracingId: attempt.tracingId }),
        next: judgement.kind,
        error,
      },
      `attempt ${outcome.kind}`,
    )
  }

  /** Returns a run unchanged, for any node to take: nothing was sent, because this node lacked something of its own. */
  #postpone(work: Work, outcome: Outcome): void {
    const why = 'error' in outcome ? outcome.error.message : ''
    this.#options.log.warn({ task: work.taskId, run: work.runId }, `attempt postponed: ${why}`)
    this.#options.giveBack(work)
  }
}

/** Returns what an attempt shows about its target; neutral if no call was made. */
export function resultOf(taskId: string, ended: EndedAttempt | undefined): CallResult {
  if (!ended || ended.startedAt === null) return { taskId, kind: 'neutral', durationMs: 0 }
  return callResultOf(taskId, ended.outcome, ended.endedAt - ended.startedAt)
}
