/**
 * Turns the runs of a claim into the response to their worker: limited to the size of one response, with secrets filled in, and
 * not before they are due.
 */
import { type Action, isLarge } from '../core/action/action.ts'
import { uuidv7 } from '../core/ids.ts'
import type { ClaimedRun } from '../core/run/claim.ts'
import { laneOf } from '../core/run/lane.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { durationMs } from '../core/task/task.ts'
import { judge } from '../outcomes/judgement.ts'
import { cancelledEnding } from '../outcomes/lost-attempt.ts'
import { type HoldingClock, holdMs } from '../runtime/clock.ts'
import { countWithin } from '../store/database/by-bytes.ts'
import type { Queryable } from '../store/database/database.ts'
import { handBackRuns } from '../store/nodes/leased-runs.ts'
import { LARGE_BYTES } from '../store/tasks/stored-definition.ts'
import { traceparentFor } from '../telemetry/traceparent.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { LaneRegistry } from '../transport/lane-registry.ts'
import type { GivenAction, RemoteRun, RemoteWorker } from '../transport/remote-workers.ts'
import type { Work } from '../transport/transport.ts'
import type { WakeUps } from '../transport/wake-ups.ts'
import type { AwaitedOutcomes } from './awaited-outcomes.ts'
import { GivenActions, type GivenActionsOptions } from './given-actions.ts'
import { worksOf } from './leased-runs.ts'
import type { RemoteSecrets } from './remote-secrets.ts'

export interface GivenRunsOptions extends GivenActionsOptions {
  readonly db: Queryable
  readonly clock: HoldingClock
  readonly wakeUps: WakeUps
  readonly definitions: Definitions
  readonly lanes: LaneRegistry
}

/** Maximum size of the definitions with payloads in one response. Runs beyond it are handed back and claimed next time. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024

export class GivenRuns {
  readonly #options: GivenRunsOptions
  readonly #actions: GivenActions
  readonly #secrets: RemoteSecrets
  readonly #outcomes: AwaitedOutcomes

  constructor(
    options: GivenRunsOptions,
    { secrets, outcomes }: { secrets: RemoteSecrets; outcomes: AwaitedOutcomes },
  ) {
    this.#options = options
    this.#actions = new GivenActions(options)
    this.#secrets = secrets
    this.#outcomes = outcomes
  }

  async of(worker: RemoteWorker, claimed: readonly ClaimedRun[]): Promise<readonly RemoteRun[]> {
    const works = await worksOf(this.#options.definitions, claimed)
    const wanted = works.filter(({ isCancelled }) => !isCancelled)
    for (const work of works) if (work.isCancelled) this.#endCancelled(work)
    if (wanted.length < works.length) await this.#outcomes.untilStored(works.map(({ runId }) => runId))
    const given = await this.#withinBounds(wanted)
    const whole = await this.#wholeOf(worker, given)
    await this.#untilDue(given)
    return whole
  }

  #endCancelled(work: Work): void {
    const ending = cancelledEnding(work, this.#options.clock.now())
    this.#outcomes.add(work.runId, { kind: 'end', ending, isAwaited: true })
  }

  /** Returns as many of the runs as fit into one response. The others are handed back. */
  async #withinBounds(works: readonly Work[]): Promise<readonly Work[]> {
    const bytesOf = ({ definition: { action } }: Work) => (isLarge(action) ? action.largeBytes : LARGE_BYTES)
    const count = countWithin(works, MAX_ANSWER_BYTES, bytesOf)
    if (count === works.length) return works
    await this.#handBack(works.slice(count))
    return works.slice(0, count)
  }

  /** Builds the runs for the response. Payloads that were too large to be kept in memory are read now. */
  async #wholeOf(worker: RemoteWorker, works: readonly Work[]): Promise<RemoteRun[]> {
    const large = works.filter(({ definition }) => isLarge(definition.action))
    const read = large.length === 0 ? [] : await this.#options.definitions.whole(large)
    const actions = new Map(large.map(({ runId }, i) => [runId, read[i]?.action]))
    const given: RemoteRun[] = []
    for (const work of works) {
      const { action } = work.definition
      const whole = isLarge(action) ? actions.get(work.runId) : action
      if (!whole) continue
      if (whole.type === 'email') {
        await this.#leaveToNodes(work)
        continue
      }
      const run = await this.#present(worker, work, whole)
      if (run.failure) await this.#refuse(work, run.failure)
      else given.push(run)
    }
    return given
  }

  /** Emails with labels have their own lanes. An email that an older build put into a lane of remote workers is moved there. */
  async #leaveToNodes(work: Work): Promise<void> {
    const { db, lanes } = this.#options
    const lane = laneOf(work.definition.projectId, work.definition)
    await lanes.ensure(db, [lane])
    await this.#handBack([{ ...work, movedTo: lane.id }])
  }

  /** Returns a run for the response, or the failure with which its attempt ends. */
  async #present(worker: RemoteWorker, work: Work, whole: Action) {
    const filled = await this.#secrets.fill(work, whole)
    if (filled.failure || filled.action.type === 'handler')
      return filled.failure ? filled : presentRun(work, filled.action, null)
    const given = await this.#actions.of(worker, work, filled.action)
    return 'failure' in given ? given : presentRun(work, filled.action, given)
  }

  /**
   * A retryable failure concerns this node only: the run is handed back so that another node can give it. Any other failure
   * ends the attempt.
   */
  async #refuse(work: Work, outcome: Outcome & { readonly kind: 'failed' }): Promise<void> {
    if (outcome.retryable) return this.#handBack([work])
    const now = this.#options.clock.now()
    this.#outcomes.add(
      work.runId,
      judge({ work, outcome, startedAt: now, endedAt: now }, Math.random, uuidv7),
    )
    await this.#outcomes.untilStored([work.runId])
  }

  async #handBack(works: Parameters<typeof handBackRuns>[0]): Promise<void> {
    await this.#options.db.run(handBackRuns(works))
    this.#options.wakeUps.announceReady()
  }

  /** Runs are fired slightly ahead of their instant; a worker must not start one before it. */
  async #untilDue(works: readonly Work[]): Promise<void> {
    const dueAt = Math.max(...works.map(({ scheduledFor, wakeAt }) => Math.max(scheduledFor, wakeAt)))
    const { clock } = this.#options
    const waitMs = () => holdMs(clock, dueAt)
    if (waitMs() > 0) clock.expect(dueAt)
    for (let ms = waitMs(); ms > 0; ms = waitMs()) await new Promise((resolve) => setTimeout(resolve, ms))
  }
}

function presentRun(
  { definition, ...run }: Work,
  action: Action,
  given: GivenAction | null,
): RemoteRun & { readonly failure?: undefined } {
  const isHandler = action.type === 'handler'
  return {
    runId: run.runId,
    taskId: run.taskId,
    handler: isHandler ? action.name : '',
    payload: isHandler ? (action.payload ?? null) : null,
    scheduledFor: run.scheduledFor,
    attempt: run.attempt,
    fence: run.fence,
    timeoutMs: durationMs(definition.timeout),
    traceparent: traceparentFor(definition.traceparent, run.runId, run.attempt),
    tracingId: definition.tracingId,
    given,
  }
}
