import { readFileSync, type Stats, statSync } from 'node:fs'

/** Minimum interval between two checks of a file. */
const LOOK_EVERY_MS = 1_000
/** Lists of blocked hosts are kept in hosts files and grow large; what is larger than this is not read. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

/**
 * A small file of the system, parsed, and parsed again when it has changed. It is read synchronously: it takes microseconds
 * a change, and anything asynchronous would need one of the threads that this folder keeps free.
 */
export class WatchedFile<T> {
  readonly #path: string
  readonly #parse: (text: string) => T
  readonly #now: () => number
  #value: T
  #version: string | undefined
  #lookAt = Number.NEGATIVE_INFINITY

  constructor(path: string, parse: (text: string) => T, now: () => number) {
    this.#path = path
    this.#parse = parse
    this.#now = now
    this.#value = parse('')
  }

  /** What the file says; what an empty one would say where there is none. */
  get value(): T {
    const now = this.#now()
    if (now < this.#lookAt) return this.#value
    this.#lookAt = now + LOOK_EVERY_MS
    const version = this.#readVersion()
    if (version === this.#version) return this.#value
    const text = version === undefined ? '' : this.#read()
    if (text === undefined) return this.#value
    this.#version = version
    this.#value = this.#parse(text)
    return this.#value
  }

  #readVersion(): string | undefined {
    const stats: Stats | undefined = statSync(this.#path, { throwIfNoEntry: false })
    if (stats === undefined || stats.size > MAX_FILE_BYTES) return undefined
    return `${stats.ino} ${stats.size} ${stats.mtimeMs}`
  }

  /** Undefined when it cannot be read now: what it said before is better than nothing. */
  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch {
      return undefined
    }
  }
}
