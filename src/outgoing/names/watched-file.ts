import { readFileSync, type Stats, statSync } from 'node:fs'

/** Minimum interval between two checks of a file. */
const LOOK_EVERY_MS = 1_000
/** Hosts files can contain large block lists; a file larger than this is not read. */
const MAX_FILE_BYTES = 16 * 1024 * 1024

/**
 * A small system file, parsed, and parsed again when it has changed. It is read synchronously: this takes microseconds per
 * change, and asynchronous access would need one of the threads that this folder keeps free.
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

  /** The parsed content of the file; that of an empty file if it does not exist. */
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

  /** Returns undefined if the file cannot be read now: the previous content is better than nothing. */
  #read(): string | undefined {
    try {
      return readFileSync(this.#path, 'utf8')
    } catch {
      return undefined
    }
  }
}
