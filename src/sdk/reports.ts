/**
 * Reports how attempts ended. While a request is in progress, further reports are collected for the next one. Reports that were
 * not received are repeated with the same fence; a rejected report does not delay the others.
 */
import type { Report } from './attempt.ts'
import type { Connection } from './connection.ts'
import { isFinal, isGone, Refused } from './refused.ts'

const MAX_REPORTS = 200
const MAX_CHARACTERS = 8 * 1024 * 1024
const AGAIN_MS = { first: 100, longest: 3_000 }

/** A report and its size as JSON. */
interface Written {
  readonly report: Report
  readonly size: number
}

/** Callbacks of the reports. */
export interface ReportEvents {
  warn(message: string): void
  /** The report is settled: nothing more is sent about this attempt. */
  onSettled(report: Report): void
  /** The worker that had this token was declared dead or has left. */
  onGone(token: string): void
}

export class Reports {
  readonly #connection: Connection
  readonly #events: ReportEvents
  #waiting: Written[] = []
  #sending: Promise<void> | undefined
  /** Maximum number of reports per request; lowered while searching for a rejected report. */
  #limit = MAX_REPORTS
  token: string | undefined

  constructor(connection: Connection, events: ReportEvents) {
    this.#connection = connection
    this.#events = events
  }

  /** Number of reports that Belfry has not yet received. */
  get unheard(): number {
    return this.#waiting.length
  }

  add(report: Report): void {
    this.#waiting.push(written(report))
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  /** Resolves when all reports are settled, the worker is gone, or the time is over. */
  async flush(withinMs: number): Promise<void> {
    const late = setTimeout(() => this.forget(), withinMs)
    while (this.#sending) await this.#sending
    clearTimeout(late)
  }

  /** Discards all pending reports. */
  forget(): void {
    const forgotten = this.#waiting
    this.#waiting = []
    for (const { report } of forgotten) this.#events.onSettled(report)
  }

  async #sendAll(): Promise<void> {
    // Reports added in the same tick are sent together.
    await new Promise(setImmediate)
    for (let failures = 0; this.#waiting.length > 0; ) {
      const batch = this.#next()
      const { token } = this
      if (token === undefined) return
      try {
        const runs = batch.map(({ report }) => report)
        const answer = await this.#connection.post('/v1/worker/complete', { runs }, { token })
        this.#limit = Math.min(MAX_REPORTS, this.#limit * 2)
        const isStuck = !this.#settle(batch, answer)
        if (isStuck) await pause(backoffMs(failures++))
        else failures = 0
      } catch (error) {
        if (error instanceof Refused && isFinal(error)) this.#settleRefused(batch, error, token)
        else await pause(backoffMs(failures++))
      }
    }
  }

  #next(): readonly Written[] {
    const batch: Written[] = []
    let characters = 0
    for (const one of this.#waiting.slice(0, this.#limit)) {
      characters += one.size
      if (batch.length > 0 && characters > MAX_CHARACTERS) break
      batch.push(one)
    }
    return batch
  }

  /**
   * Removes the reports that were received; those that could not be stored yet are sent again, after the others. Returns false
   * if none was stored.
   */
  #settle(batch: readonly Written[], answer: unknown): boolean {
    const { runs = [] } = (answer ?? {}) as { runs?: readonly { runId: string; pending?: boolean }[] }
    const pending = new Set(runs.flatMap((run) => (run.pending ? run.runId : [])))
    const again = pending.size === 0 ? [] : batch.filter(({ report }) => pending.has(report.runId))
    this.#drop(batch)
    this.#waiting.push(...again)
    for (const one of batch) if (!again.includes(one)) this.#events.onSettled(one.report)
    return again.length < batch.length
  }

  #drop(batch: readonly Written[]): void {
    const heard = new Set(batch)
    this.#waiting = this.#waiting.filter((one) => !heard.has(one))
  }

  /** Halves the batch until the rejected report is alone, then sends that report without its result and log. */
  #settleRefused(batch: readonly Written[], error: Refused, token: string): void {
    if (isGone(error)) {
      this.#drop(batch)
      for (const { report } of batch) this.#events.onSettled(report)
      this.#events.onGone(token)
      return
    }
    this.#limit = Math.max(1, Math.floor(batch.length / 2))
    const [one] = batch
    if (batch.length > 1 || !one) return
    this.#events.warn(`a report about run ${one.report.runId} was refused: ${error.message}`)
    const { runId, fence, outcome, retryable, error: failure } = one.report
    const isBare = !('result' in one.report) && !('log' in one.report)
    this.#drop(batch)
    if (isBare) {
      this.#events.onSettled(one.report)
      return
    }
    const bare = { runId, fence, outcome, ...(retryable === undefined ? {} : { retryable }) }
    this.#waiting.unshift(
      written(
        failure
          ? { ...bare, error: { code: failure.code, message: 'The report could not be stored.' } }
          : bare,
      ),
    )
  }
}

const backoffMs = (failures: number) =>
  Math.min(AGAIN_MS.longest, AGAIN_MS.first * 2 ** Math.min(failures, 10))

/** A return value that cannot be serialised as JSON is an error of the handler; it is reported as such. */
function written(report: Report): Written {
  try {
    return { report, size: JSON.stringify(report).length }
  } catch (error) {
    const { runId, fence, log, logFirst } = report
    const message = `The return value of the handler cannot be serialised as JSON: ${error instanceof Error ? error.message : error}`
    return written({
      runId,
      fence,
      outcome: 'failed',
      retryable: false,
      error: { code: 'handler_failed', message },
      ...(log === undefined || logFirst === undefined ? {} : { log, logFirst }),
    })
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
