/**
 * Accepts reports about single attempts, authenticated by their own tokens. The run's row in the agenda decides everything: if
 * it no longer has the fence of the attempt, the attempt is over and reports about it change nothing.
 */

import type { TokenAttempt } from '../core/access/token-attempt.ts'
import { Refusal } from '../core/errors.ts'
import { uuidv7 } from '../core/ids.ts'
import type { Outcome } from '../core/run/outcome.ts'
import { MAX_FAILURE_CHARACTERS } from '../core/run/outcome.ts'
import { keptText } from '../core/values/kept-text.ts'
import { type Judgement, judge } from '../outcomes/judgement.ts'
import { cancelledEnding } from '../outcomes/lost-attempt.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Vault } from '../secrets/vault.ts'
import { endRuns } from '../store/agenda/outcomes.ts'
import { retryRuns } from '../store/agenda/retries.ts'
import type { Database, Queryable } from '../store/database/database.ts'
import { withDeadlockRetry } from '../store/database/retry-on-deadlock.ts'
import { beatAttempt, finishBeats, wasLost } from '../store/nodes/attempt-beats.ts'
import { givenAt, runsLeasedTo } from '../store/nodes/remote-runs.ts'
import type { AttemptEnd, AttemptReports } from '../transport/attempt-reports.ts'
import type { Definitions } from '../transport/definitions.ts'
import type { Work } from '../transport/transport.ts'
import type { DueHint, WakeUps } from '../transport/wake-ups.ts'
import { gone } from './claim-book.ts'
import { RemoteSecrets } from './remote-secrets.ts'

export interface AttemptDeskOptions {
  readonly db: Database
  readonly definitions: Definitions
  readonly wakeUps: WakeUps
  readonly clock: Clock
  readonly vault: Vault
}

/** The result of writing the end of an attempt. */
interface Written {
  readonly isRetried: boolean
  readonly hasFreedGates: boolean
  readonly due: readonly DueHint[]
}

export class AttemptDesk implements AttemptReports {
  readonly #options: AttemptDeskOptions
  readonly #secrets: RemoteSecrets

  constructor(options: AttemptDeskOptions) {
    this.#options = options
    this.#secrets = new RemoteSecrets(options.vault)
  }

  async beat(attempt: TokenAttempt): Promise<number> {
    const [beaten] = await this.#options.db.run(beatAttempt(attempt))
    return beaten?.at ?? this.#refuse(attempt)
  }

  async end(attempt: TokenAttempt, end: AttemptEnd): Promise<{ readonly isRetried: boolean }> {
    const { db, definitions, clock, wakeUps } = this.#options
    const { runId, fence, workerId } = attempt
    const [leased] = await db.run(runsLeasedTo({ workerId, runIds: [runId] }))
    const [definition] = leased?.fence === fence ? await definitions.of([leased]) : []
    if (!leased || !definition) return this.#refuse(attempt)
    const work = { ...leased, definition }
    const startedAt = givenAt(leased)
    const endedAt = Math.max(startedAt, clock.now())
    const outcome = await this.#outcomeOf(work, end)
    const judgement = judge({ work, outcome, startedAt, endedAt }, Math.random, uuidv7)
    const written = await withDeadlockRetry(db, async (tx) => {
      const result = await write(tx, { work, judgement, endedAt })
      if (result !== null) await tx.run(finishBeats([attempt]))
      return result
    })
    if (written === null) return this.#refuse(attempt)
    if (written.hasFreedGates) wakeUps.announceReady()
    wakeUps.announceDue(written.due)
    return { isRetried: written.isRetried }
  }

  async #outcomeOf(work: Work, end: AttemptEnd): Promise<Outcome> {
    if (end.isSuccess) return { kind: 'completed', output: null }
    const redactor = (await this.#secrets.redactorsFor([work])).get(work.runId)
    const reason = keptText(end.reason, MAX_FAILURE_CHARACTERS)
    const message = redactor === undefined ? reason : String(redactor.value(reason))
    return { kind: 'failed', error: { code: 'program_failed', message }, retryable: true, output: null }
  }

  /** Rejects a report, with the reason why the attempt accepts no more. */
  async #refuse(attempt: TokenAttempt): Promise<never> {
    const [over] = await this.#options.db.run(wasLost(attempt))
    if (over?.isLost) throw gone({ id: attempt.workerId })
    throw new Refusal(
      'attempt_ended',
      `Attempt ${attempt.attempt} of run ${attempt.runId} has ended. Stop the program; nothing more can be reported about it.`,
    )
  }
}

interface Ended {
  readonly work: Work
  readonly judgement: Judgement
  readonly endedAt: number
}

/** Writes the end of an attempt; returns null if the attempt was already over. */
async function write(tx: Queryable, { work, judgement, endedAt }: Ended): Promise<Written | null> {
  if (judgement.kind === 'retry') {
    const { retry } = judgement
    const [row] = await tx.run(retryRuns([retry]))
    if (row)
      return {
        isRetried: true,
        hasFreedGates: row.hasFreedGates,
        due: [{ shard: row.shard, at: retry.retryAt }],
      }
  }
  // If a run cannot be retried although its attempt is current, it was cancelled.
  const ending = judgement.kind === 'end' ? judgement.ending : cancelledEnding(work, endedAt)
  const [result] = await tx.run(endRuns([ending]))
  if (!result?.ended) return null
  return { isRetried: false, hasFreedGates: result.hasFreedGates, due: result.following }
}
