/**
 * The log of an attempt that a remote worker performs, which may speak to another node each time. Where the log has come to is read from
 * the database; when another node has written meanwhile, it is read again.
 */
import { Refusal } from '../core/errors.ts'
import type { LogRow } from '../store/logs/append.ts'
import type { LogBuffer } from './log-buffer.ts'
import type { RemoteLines } from './run-log.ts'

/** However often two nodes store lines of one attempt at the same time, so often is enough. */
const MAX_TRIES = 5

/** Lines that somebody waits to be stored. */
export class RemoteArrival {
  readonly lines: RemoteLines
  readonly settled: Promise<boolean>
  /** Nobody waits any more. */
  isOver = false
  #tries = 0
  #settle: (isHeld: boolean) => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor(lines: RemoteLines, withinMs: number) {
    this.lines = lines
    this.settled = new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.fail(), withinMs)
      const over = () => {
        clearTimeout(timer)
        this.isOver = true
      }
      this.#settle = (isHeld) => {
        over()
        resolve(isHeld)
      }
      this.#fail = (error) => {
        over()
        reject(error)
      }
    })
  }

  settle(isHeld: boolean): void {
    this.#settle(isHeld)
  }

  fail(): void {
    this.#fail(new Refusal('unavailable', 'The lines could not be stored in time. Send them again.'))
  }

  /** Whether it may be tried again. */
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
  /** What became of its rows; undefined while nothing has. */
  #end: 'lost' | 'overtaken' | undefined

  constructor(key: string, buffer: LogBuffer) {
    this.key = key
    this.buffer = buffer
  }

  /** Each request tells what was left out: none is known to be the last. */
  readonly isEnded = true

  get isWaiting(): boolean {
    return this.#arrivals.length > 0
  }

  /** It cannot be gone on with: the run is somebody else's, or another node has written. */
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

  /** Tells those who wait what came of it, if anything did; answers those that must be tried again. */
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
