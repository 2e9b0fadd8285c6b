/**
 * Sends the output of a program to Belfry while it runs, with the token of its attempt. A program that writes faster than the
 * log can be sent is paused.
 */
import { StreamText } from '../logs/stream-text.ts'
import type { OutputLog } from '../programs/program-runner.ts'
import type { Connection } from '../sdk/connection.ts'
import { LogSender } from '../sdk/log-sender.ts'
import { RunLog } from '../sdk/run-log.ts'

export interface RunnerLogOptions {
  readonly connection: Connection
  readonly token: string
  readonly run: { readonly runId: string; readonly fence: number }
  readonly maxBytes: number
  /** Called when Belfry reports that the attempt is over. */
  onGone(): void
}

/** Amount of unsent output beyond which the program is paused. */
const MAX_WAITING_CHARACTERS = 256 * 1024
/** Interval for sending a line whose end has not been written yet. */
const SETTLE_MS = 250
/** Maximum time for sending the end of the log; exceeding it does not fail the run. */
const LONGEST_END_MS = 5_000

const STREAMS = ['stdout', 'stderr'] as const

export class RunnerLog implements OutputLog {
  readonly #sender: LogSender
  readonly #log: RunLog
  readonly #texts = { stdout: new StreamText(null), stderr: new StreamText(null) }
  readonly #settling: NodeJS.Timeout

  constructor({ connection, token, run, maxBytes, onGone }: RunnerLogOptions) {
    this.#sender = new LogSender(connection, { warn: () => {}, onGone })
    this.#sender.token = token
    this.#log = new RunLog(run, {
      maxBytes,
      memory: { characters: 0 },
      onWritten: (log) => this.#sender.add(log),
    })
    this.#settling = setInterval(() => {
      for (const stream of STREAMS) this.#add(stream, this.#texts[stream].settle(Date.now()))
    }, SETTLE_MS)
  }

  write(stream: 'stdout' | 'stderr', chunk: Buffer): void {
    this.#add(stream, this.#texts[stream].push(chunk, Date.now()))
  }

  say(level: 'warn', message: string): void {
    this.#log.write(level, message)
  }

  room(): Promise<void> | null {
    const isRoom = this.#log.fits(Number.POSITIVE_INFINITY, MAX_WAITING_CHARACTERS)
    return isRoom ? null : this.#sender.untilFits(this.#log, Number.POSITIVE_INFINITY, MAX_WAITING_CHARACTERS)
  }

  /** Resolves when the whole log is stored, or when the time is over. */
  async end(): Promise<void> {
    clearInterval(this.#settling)
    for (const stream of STREAMS) this.#add(stream, this.#texts[stream].end(Date.now()))
    this.#log.end()
    if (this.#log.isWaiting) this.#sender.add(this.#log)
    const late = setTimeout(() => this.#sender.forget(), LONGEST_END_MS)
    await this.#sender.untilFits(this.#log, 0, 0)
    clearTimeout(late)
  }

  #add(stream: 'stdout' | 'stderr', text: { readonly text: string } | null): void {
    if (text) this.#log.writeOutput(stream, text.text)
  }
}
