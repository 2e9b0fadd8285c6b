/**
 * The log of an attempt that a remote worker performs, which may send each request to another node. The position of the log is
 * read from the database, and read again if another node has written meanwhile.
 */
import { Refusal } from '../core/errors.ts'
import type { LogRow } from '../store/logs/append.ts'
import type { LogBuffer } from './log-buffer.ts'
import type { RemoteLines } from './run-log.ts'

/** Maximum number of tries if several nodes store lines of one attempt at the same time. */
const MAX_TRIES = 5

/** Lines that a request waits to have stored. */
export class RemoteArrival {
  readonly lines: RemoteLines
  readonly settled: Promise<boolean>
  /** Whether the request no longer waits. */
  isOver = false
  #tries = 0
  #settle: (isLeased: boolean) => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor(lines: RemoteLines, withinMs: number) {
    this.lines = lines
    this.settled = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(), withinMs)
      const over = () => {
        clearTimeout(timer)
        this.isOver = true
      }
      this.#settle = (isLeased) => {
        over()
        resolve(isLeased)
      }
      this.#fail = (error) => {
        over()
        reject(error)
      }
    })
  }

  settle(isLeased: boolean): void {
    this.#settle(isLeased)
  }

  fail(): void {
    this.#fail(new Refusal('unavailable', 'The lines could not be stored in time. Send them again.'))
  }

  /** Returns whether it may be tried again. */
  tryAgain(): boolean {
    if (++this.#tries < MAX_TRIES) return true
    this.fail()
    return false
  }
}

export class RemoteLog {
  readonly key: string
  readonly buffer: LogBuffer
  #arrivals: RemoteArrival[] = []
  /** Why the log cannot continue; undefined while it can. */
  #end: 'lost' | 'overtaken' | undefined

  constructor(key: string, buffer: LogBuffer) {
    this.key = key
    this.buffer = buffer
  }

  /** Always true, so that each request reports omitted lines: no request is known to be the last. */
  readonly isEnded = true

  get isWaiting(): boolean {
    return this.#arrivals.length > 0
  }

  /** Whether the log cannot continue: the run has another owner, or another node has written. */
  get isOver(): boolean {
    return this.#end !== undefined
  }

  settle(): void {}

  accept(arrival: RemoteArrival): void {
    const { first, entries } = arrival.lines
    for (const [i, entry] of entries.entries()) this.buffer.addLine(first + i, entry)
    this.#arrivals.push(arrival)
  }

  stored(rows: readonly LogRow[], isOvertaken: boolean): void {
    this.buffer.written(rows)
    if (isOvertaken) this.#end ??= 'overtaken'
  }

  lost(): void {
    this.#end = 'lost'
  }

  /** Settles the waiting requests if their lines were handled; returns those that must be tried again. */
  conclude(): RemoteArrival[] {
    if (this.#end === undefined && this.buffer.isWaiting) return []
    const arrivals = this.#arrivals.filter(({ isOver }) => !isOver)
    this.#arrivals = []
    if (this.#end !== undefined) this.buffer.discard()
    if (this.#end === 'overtaken') return arrivals.filter((arrival) => arrival.tryAgain())
    for (const arrival of arrivals) arrival.settle(this.#end !== 'lost')
    return []
  }
}
