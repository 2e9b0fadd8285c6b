/**
 * Sends the log lines of handlers while they run: shortly after the first line, in one request for all attempts. Unconfirmed
 * lines are sent again; Belfry stores each line once, by its number. Handlers never wait for this.
 */
import type { Connection } from './connection.ts'
import { isFinal, isGone, Refused } from './refused.ts'
import type { RunLog } from './run-log.ts'

/** How long lines are collected before a request. */
const GATHER_MS = 200
/** Maximum content of one request over all attempts. As JSON it is at most six times as large. */
const MAX_CHARACTERS = 128 * 1024
const MAX_LINES = 2_000
const MAX_RUNS = 200
const LONGEST_PAUSE_MS = 3_000
/** When an attempt has ended, lines are sent until this much is left, which is sent with its report. */
const LINES_A_REPORT = 1_000
const CHARACTERS_A_REPORT = 256 * 1024

/** Callbacks of the sender. */
export interface LogSenderEvents {
  warn(message: string): void
  /** The worker that had this token was declared dead or has left. */
  onGone(token: string): void
}

export class LogSender {
  readonly #connection: Connection
  readonly #events: LogSenderEvents
  readonly #waiting = new Set<RunLog>()
  #passed: (() => void)[] = []
  #sending: Promise<void> | undefined
  token: string | undefined

  constructor(connection: Connection, events: LogSenderEvents) {
    this.#connection = connection
    this.#events = events
  }

  add(log: RunLog): void {
    this.#waiting.add(log)
    this.#sending ??= this.#sendAll().finally(() => {
      this.#sending = undefined
    })
  }

  /** Resolves when what is left of a log fits into a report. */
  async drain(log: RunLog): Promise<void> {
    await this.untilFits(log, LINES_A_REPORT, CHARACTERS_A_REPORT)
    this.#waiting.delete(log)
  }

  /** Resolves when at most this much of a log is unsent, or when sending has stopped. */
  async untilFits(log: RunLog, lines: number, characters: number): Promise<void> {
    while (!log.fits(lines, characters) && this.#sending)
      await new Promise<void>((resolve) => this.#passed.push(resolve))
  }

  /** Discards all unsent lines. */
  forget(): void {
    for (const log of this.#waiting) log.drop()
    this.#waiting.clear()
    this.#pass()
  }

  async #sendAll(): Promise<void> {
    for (let failures = 0; this.#waiting.size > 0; ) {
      await pause(failures === 0 ? GATHER_MS : Math.min(LONGEST_PAUSE_MS, GATHER_MS * 2 ** failures))
      const { token } = this
      if (token === undefined) return this.forget()
      const batch = this.#next()
      if (batch.length === 0) continue
      try {
        const runs = batch.map(({ log: { runId, fence }, first, lines }) => ({ runId, fence, first, lines }))
        const answer = await this.#connection.post('/v1/worker/log', { runs }, { token })
        const { lost = [] } = (answer ?? {}) as { lost?: readonly string[] }
        for (const { log, first, lines } of batch)
          if (lost.includes(log.runId)) log.drop()
          else log.confirm(first + lines.length)
        failures = 0
      } catch (error) {
        failures = Math.min(failures + 1, 10)
        if (error instanceof Refused && isFinal(error)) this.#refused(batch, error, token)
      }
      for (const log of this.#waiting) if (!log.isWaiting) this.#waiting.delete(log)
      this.#pass()
    }
    this.#pass()
  }

  /** Returns some lines of each attempt in turn. */
  #next() {
    const batch = []
    let [lines, characters] = [MAX_LINES, MAX_CHARACTERS]
    for (const log of [...this.#waiting].slice(0, MAX_RUNS)) {
      const next = log.next(lines, characters)
      this.#waiting.delete(log)
      if (next.lines.length === 0) continue
      batch.push({ log, ...next })
      this.#waiting.add(log)
      lines -= next.lines.length
      characters -= next.lines.reduce((sum, { message }) => sum + message.length, 0)
      if (lines <= 0 || characters <= 0) break
    }
    return batch
  }

  #refused(batch: readonly { readonly log: RunLog }[], error: Refused, token: string): void {
    if (isGone(error)) {
      this.forget()
      this.#events.onGone(token)
      return
    }
    // Repeating the request cannot help, and log lines must not block a handler.
    this.#events.warn(`lines of ${batch.length} runs were refused: ${error.message}`)
    for (const { log } of batch) log.drop()
  }

  #pass(): void {
    for (const resolve of this.#passed.splice(0)) resolve()
  }
}

const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))
