/**
 * Stores the logs of all attempts handled by this node, with one statement every quarter of a second. A single line is written
 * at once. The end of an attempt waits for its log, so that the log of an ended run is complete.
 */
import { LRUCache } from 'lru-cache'
import type { Clock } from '../runtime/clock.ts'
import { Loop } from '../runtime/loop.ts'
import type { Service } from '../runtime/service.ts'
import type { Database } from '../store/database/database.ts'
import { SetAside } from '../store/database/set-aside.ts'
import { appendLog, type LogRow, logHeads } from '../store/logs/append.ts'
import type { Logger } from '../telemetry/logger.ts'
import { LocalAttemptLog } from './attempt-log.ts'
import { EMPTY, LogBuffer, type LogMemory } from './log-buffer.ts'
import { RemoteArrival, RemoteLog } from './remote-log.ts'
import type { LoggedAttempt, OpenAttemptLog, RemoteLines, RunLogs } from './run-log.ts'

export interface LogWriterOptions {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  /** Maximum size of the log of an attempt, in bytes. */
  readonly maxLogBytes: number
}

const PACE_MS = 250
/** Ends of attempts wait for their logs, and are collected for this long. */
const URGENT_PACE_MS = 20
const IDLE_MS = 60_000
/** Limits of one statement, so that it takes some milliseconds. */
const BATCH_ROWS = 2_000
const BATCH_BYTES = 4 * 1024 * 1024
/** If more than this is in memory, programs that can wait are made to wait, and remote workers are asked to send again. */
const CROWDED_BYTES = 16 * 1024 * 1024
/** If more than this is in memory, nothing more is kept. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024
/** Maximum time that the end of an attempt waits for its log. */
const LONGEST_END_MS = 10_000
/** Maximum number of attempts of remote workers whose log positions are cached; others are read from the database. */
const MAX_REMOTE_KNOWN = 10_000

export class LogWriter implements Service, RunLogs {
  readonly #options: LogWriterOptions
  readonly #loop: Loop
  readonly #aside: SetAside<LogRow>
  readonly #memory: LogMemory = { bytes: 0 }
  /** Attempts with something to write, in turn. */
  readonly #waiting = new Set<Writing>()
  readonly #remote = new LRUCache<string, RemoteLog>({ max: MAX_REMOTE_KNOWN })
  #arrivals: RemoteArrival[] = []
  /** Called after each pass. */
  #afterPass: (() => void)[] = []
  #isUrgent = false
  #begunAt = Number.NEGATIVE_INFINITY

  constructor(options: LogWriterOptions) {
    this.#options = options
    const { db, log } = options
    this.#aside = new SetAside({
      ...{ operation: 'log', db, log },
      subjectOf: ({ runId, fence, seq }) => ({ id: `${runId}/${fence}/${seq}`, runId }),
      datedAt: ({ at }) => at,
    })
    this.#loop = new Loop({ name: 'logs', everyMs: IDLE_MS, log, runOnce: () => this.runOnce() })
  }

  start(): void {
    this.#loop.start()
  }

  /** Resolves when everything that can be stored is stored. */
  async stop(): Promise<void> {
    const deadline = performance.now() + LONGEST_END_MS
    while (this.#waiting.size + this.#arrivals.length > 0 && performance.now() < deadline)
      await this.#pass(deadline - performance.now())
    await this.#loop.stop()
  }

  /** Whether more than `CROWDED_BYTES` wait to be written. */
  get isCrowded(): boolean {
    return this.#memory.bytes > CROWDED_BYTES
  }

  open(attempt: LoggedAttempt): OpenAttemptLog {
    const { clock } = this.#options
    const { runId, fence } = attempt
    return new LocalAttemptLog({
      buffer: new LogBuffer({ runId, fence }, EMPTY, this.#bounds),
      clock,
      onWritten: (log) => this.#written(log),
      room: () => this.#room(),
      onEnd: (log) => this.#end(log),
    })
  }

  async store(lines: RemoteLines): Promise<boolean> {
    const arrival = new RemoteArrival(lines, LONGEST_END_MS)
    this.#arrivals.push(arrival)
    this.#isUrgent ||= lines.isLast === true
    this.#loop.wake()
    return arrival.settled
  }

  get #bounds() {
    return { maxBytes: this.#options.maxLogBytes, memory: this.#memory }
  }

  #written(log: LocalAttemptLog): void {
    if (this.#memory.bytes > MAX_MEMORY_BYTES) log.buffer.close()
    if (this.#waiting.has(log) || !log.isWaiting) return
    this.#waiting.add(log)
    if (this.#waiting.size === 1) this.#loop.wake()
  }

  #room(): Promise<void> | null {
    if (!this.isCrowded) return null
    return (async () => {
      while (this.isCrowded) await this.#pass(LONGEST_END_MS)
    })()
  }

  async #end(log: LocalAttemptLog): Promise<void> {
    const deadline = performance.now() + LONGEST_END_MS
    while (log.isWaiting && performance.now() < deadline) {
      this.#waiting.add(log)
      await this.#pass(deadline - performance.now())
    }
    if (!log.isWaiting) return
    this.#options.log.warn('the last lines of a log could not be stored in time and were dropped')
    log.buffer.discard()
  }

  /** Resolves after the next pass, or when `withinMs` have passed. */
  #pass(withinMs: number): Promise<void> {
    this.#isUrgent = true
    this.#loop.wake()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, withinMs)
      this.#afterPass.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Writes waiting rows, up to a limit; returns when to run again. */
  async runOnce(): Promise<number | undefined> {
    const early = this.#begunAt + (this.#isUrgent ? URGENT_PACE_MS : PACE_MS) - performance.now()
    if (early > 0) return Math.ceil(early)
    this.#isUrgent = false
    await this.#takeArrivals()
    const batch = this.#nextBatch()
    if (batch.size > 0) {
      this.#begunAt = performance.now()
      await this.#write(batch)
    }
    this.#conclude()
    for (const resolve of this.#afterPass.splice(0)) resolve()
    if (this.#isUrgent) return URGENT_PACE_MS
    return this.#waiting.size + this.#arrivals.length > 0 ? PACE_MS : undefined
  }

  /** Adds lines of remote workers to their logs, after reading the positions of logs that are not cached. */
  async #takeArrivals(): Promise<void> {
    const { length } = this.#arrivals
    const arrivals = this.#arrivals.filter(({ isOver }) => !isOver)
    const unknown = arrivals.filter(({ lines }) => !this.#remote.has(keyOf(lines)))
    const heads = unknown.length === 0 ? [] : await this.#options.db.run(logHeads(distinct(unknown)))
    // Others may have arrived meanwhile.
    this.#arrivals.splice(0, length)
    for (const head of heads) {
      const key = keyOf(head)
      const { runId, fence } = head
      this.#remote.set(key, new RemoteLog(key, new LogBuffer({ runId, fence }, head, this.#bounds)))
    }
    for (const arrival of arrivals) {
      const log = this.#remote.get(keyOf(arrival.lines))
      log?.accept(arrival)
      if (log) this.#waiting.add(log)
      else arrival.settle(false)
    }
  }

  /** Returns the next rows and the logs they belong to: some of each attempt in turn. */
  #nextBatch(): Map<LogRow, Writing> {
    const batch = new Map<LogRow, Writing>()
    const at = this.#options.clock.now()
    let bytes = 0
    for (const log of [...this.#waiting]) {
      if (batch.size >= BATCH_ROWS || bytes >= BATCH_BYTES) break
      log.settle()
      const bounds = { rows: BATCH_ROWS - batch.size, bytes: BATCH_BYTES - bytes }
      for (const row of log.buffer.take({ ...bounds, isEnd: log.isEnded, at })) {
        batch.set(row, log)
        bytes += Buffer.byteLength(row.text)
      }
      // The logs after this one come first in the next batch.
      this.#waiting.delete(log)
      this.#waiting.add(log)
    }
    return batch
  }

  async #write(batch: ReadonlyMap<LogRow, Writing>): Promise<void> {
    const refused = await this.#aside.each([...batch.keys()], async (part) => {
      const answers = await this.#options.db.run(appendLog(part))
      const byAttempt = new Map(answers.map((answer) => [keyOf(answer), answer]))
      for (const [log, rows] of byLog(part, batch)) {
        const answer = rows[0] && byAttempt.get(keyOf(rows[0]))
        if (answer) log.stored(rows, answer.written < answer.given)
        else log.lost()
      }
    })
    for (const row of refused) batch.get(row)?.buffer.refused(row)
  }

  #conclude(): void {
    for (const log of this.#waiting) {
      if (log instanceof RemoteLog) {
        this.#arrivals.push(...log.conclude())
        if (log.isOver) this.#remote.delete(log.key)
      }
      if (!log.isWaiting) this.#waiting.delete(log)
    }
  }
}

type Writing = LocalAttemptLog | RemoteLog

const keyOf = ({ runId, fence }: LoggedAttempt) => `${runId}/${fence}`

function byLog(rows: readonly LogRow[], logs: ReadonlyMap<LogRow, Writing>): Map<Writing, LogRow[]> {
  const found = new Map<Writing, LogRow[]>()
  for (const row of rows) {
    const log = logs.get(row)
    if (!log) continue
    const known = found.get(log)
    if (known) known.push(row)
    else found.set(log, [row])
  }
  return found
}

const distinct = (arrivals: readonly RemoteArrival[]): LoggedAttempt[] => [
  ...new Map(arrivals.map(({ lines }) => [keyOf(lines), lines])).values(),
]
