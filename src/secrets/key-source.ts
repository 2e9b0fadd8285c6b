/** Where a node has its keys from: its settings, a file that is read again when it changes, or a file that it makes itself. */
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

/** Where keys are looked for. */
export interface KeySettings {
  /** Keys as the environment has them. */
  readonly keys: string | null
  /** A file that must exist. */
  readonly file: string | null
  /** The file in the data directory of an embedded database, which is made when it is first needed. */
  readonly ownFile: OwnKeyFile | null
}

/** A file in a directory that may be another user's. */
export interface OwnKeyFile {
  readonly path: string
  /** Does something with the rights that this process should have there. It is over when this returns. */
  withRights<T>(work: () => T): T
}

/** Keys that cannot be read; the message says why and what would be right. */
export class KeySourceError extends Error {
  override readonly name = 'KeySourceError'
}

/** The keys, and whether others on the machine can read them. */
export interface ReadKeys {
  readonly ring: KeyRing | null
  readonly openTo: string | null
}

const NO_KEYS: ReadKeys = { ring: null, openTo: null }

export class KeySource {
  readonly #settings: KeySettings
  #read: ReadKeys | undefined
  /** By which a change of the file is noticed. */
  #mark: string | undefined

  constructor(settings: KeySettings) {
    this.#settings = settings
  }

  /** The keys as they are now. */
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

  /** Makes a key where that is this node's to do; of two who do so at once one makes it, and both read it. */
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
