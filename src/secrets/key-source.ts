/**
 * Where a node gets its keys: from its settings, from a file that is read again when it changes, or from a file that it creates
 * itself.
 */
import {
  closeSync,
  fsyncSync,
  constants as modes,
  openSync,
  readFileSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs'
import { type KeyRing, newKey, parseKeyRing } from '../core/secret/key-ring.ts'

/** Where to look for keys. */
export interface KeySettings {
  /** Keys from the environment. */
  readonly keys: string | null
  /** A file that must exist. */
  readonly file: string | null
  /** The file in the data directory of an embedded database, which is created when it is first needed. */
  readonly ownFile: OwnKeyFile | null
}

/** A file in a directory that may belong to another user. */
export interface OwnKeyFile {
  readonly path: string
  /** Runs `work` synchronously with the privileges that this process should have in that directory. */
  withRights<T>(work: () => T): T
}

/** Keys that cannot be read; the message says why and what is expected. */
export class KeySourceError extends Error {
  override readonly name = 'KeySourceError'
}

/** The keys, and the path of their file if other users of the machine can read it. */
export interface ReadKeys {
  readonly ring: KeyRing | null
  readonly openTo: string | null
}

const NO_KEYS: ReadKeys = { ring: null, openTo: null }

export class KeySource {
  readonly #settings: KeySettings
  #read: ReadKeys | undefined
  /** Identifies the state of the file, so that a change is noticed. */
  #mark: string | undefined

  constructor(settings: KeySettings) {
    this.#settings = settings
  }

  /** Returns the current keys. */
  read(): ReadKeys {
    const { keys, file, ownFile } = this.#settings
    if (keys !== null) {
      this.#read ??= { ring: ringOf(keys, 'BELFRY_SECRETS_KEY'), openTo: null }
      return this.#read
    }
    if (file !== null) return this.#readFile(file)
    return ownFile === null ? NO_KEYS : ownFile.withRights(() => this.#readFile(ownFile.path, true))
  }

  #readFile(path: string, mayBeMissing = false): ReadKeys {
    try {
      const found = statSync(path)
      const mark = `${found.mtimeMs} ${found.size} ${found.ino} ${found.mode}`
      if (this.#read && mark === this.#mark) return this.#read
      const ring = ringOf(readFileSync(path, 'utf8'), `The file ${path}`)
      this.#read = { ring, openTo: isOpen(found) ? path : null }
      this.#mark = mark
      return this.#read
    } catch (error) {
      if (error instanceof KeySourceError) throw error
      if (mayBeMissing && (error as NodeJS.ErrnoException).code === 'ENOENT') return NO_KEYS
      throw unreadable(path, error as Error)
    }
  }

  /** Creates a key if this node is responsible for it; if two processes do so at once, one creates it and both read it. */
  make(): boolean {
    const { keys, file, ownFile } = this.#settings
    if (keys !== null || file !== null || ownFile === null) return false
    ownFile.withRights(() => makeFile(ownFile.path))
    return true
  }
}

function makeFile(path: string): void {
  try {
    const made = openSync(path, 'wx', 0o600)
    try {
      writeSync(made, `${newKey()}\n`)
      fsyncSync(made)
    } finally {
      closeSync(made)
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unreadable(path, error as Error)
  }
}

function ringOf(text: string, place: string): KeyRing {
  const read = parseKeyRing(text)
  if (read.ok) return read.ring
  throw new KeySourceError(`${place} ${read.reason}.`)
}

const unreadable = (path: string, error: Error) =>
  new KeySourceError(`Cannot read the secrets key file ${path}: ${error.message}.`)

const isOpen = ({ mode }: Stats): boolean =>
  process.platform !== 'win32' && (mode & (modes.S_IRWXG | modes.S_IRWXO)) !== 0
