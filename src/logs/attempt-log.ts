/** The log of an attempt that this node performs. */
import type { LogLevel } from '../core/run/log-entry.ts'
import type { Redactor } from '../core/secret/redactor.ts'
import { storableText } from '../core/values/kept-text.ts'
import type { Clock } from '../runtime/clock.ts'
import type { LogRow } from '../store/logs/append.ts'
import type { LogBuffer } from './log-buffer.ts'
import type { OpenAttemptLog } from './run-log.ts'
import { StreamText, type TimedText } from './stream-text.ts'

type ProgramStream = 'stdout' | 'stderr'

export interface AttemptLogOptions {
  readonly buffer: LogBuffer
  readonly clock: Clock
  /** Called when there is something to write. */
  onWritten(log: LocalAttemptLog): void
  room(): Promise<void> | null
  /** Resolves when nothing is waiting to be written. */
  onEnd(log: LocalAttemptLog): Promise<void>
}

export class LocalAttemptLog implements OpenAttemptLog {
  readonly #options: AttemptLogOptions
  readonly #streams = new Map<ProgramStream, StreamText>()
  #redactor: Redactor | null = null
  isEnded = false

  constructor(options: AttemptLogOptions) {
    this.#options = options
  }

  get buffer(): LogBuffer {
    return this.#options.buffer
  }

  /** Whether anything waits to become rows, or to be written. */
  get isWaiting(): boolean {
    return this.buffer.isWaiting || [...this.#streams.values()].some(({ isWaiting }) => isWaiting)
  }

  redactWith(redactor: Redactor): void {
    this.#redactor = redactor
  }

  get redactor(): Redactor | null {
    return this.#redactor
  }

  room(): Promise<void> | null {
    return this.buffer.isFull ? null : this.#options.room()
  }

  write(stream: ProgramStream, chunk: Buffer): void {
    if (this.isEnded) return
    const { buffer, clock } = this.#options
    if (buffer.isFull) buffer.omit(chunk)
    else this.#add(stream, this.#streamOf(stream).push(chunk, clock.now()))
    this.#options.onWritten(this)
  }

  say(level: LogLevel, message: string): void {
    if (this.isEnded) return
    const { buffer, clock } = this.#options
    const text = storableText(this.#redactor?.text(message) ?? message)
    buffer.add({ at: clock.now(), stream: 'log', level, text: text.endsWith('\n') ? text : `${text}\n` })
    this.#options.onWritten(this)
  }

  /** Makes rows of text that need not wait any longer. */
  settle(): void {
    const now = this.#options.clock.now()
    for (const [stream, text] of this.#streams) this.#add(stream, text.settle(now))
  }

  stored(rows: readonly LogRow[]): void {
    this.buffer.written(rows)
  }

  /** The attempt no longer holds the lease of its run: nothing more is kept. */
  lost(): void {
    this.buffer.discard()
    this.#streams.clear()
  }

  async end(): Promise<void> {
    if (this.isEnded) return
    this.isEnded = true
    const now = this.#options.clock.now()
    for (const [stream, text] of this.#streams) this.#add(stream, text.end(now))
    this.#streams.clear()
    await this.#options.onEnd(this)
  }

  #streamOf(stream: ProgramStream): StreamText {
    const known = this.#streams.get(stream)
    if (known) return known
    const text = new StreamText(this.#redactor)
    this.#streams.set(stream, text)
    return text
  }

  #add(stream: ProgramStream, text: TimedText | null): void {
    if (text !== null) this.buffer.add({ ...text, stream, level: null })
  }
}
