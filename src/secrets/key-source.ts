/** Where a node has its keys from: its settings, a file that is read again when it changes, or a file that it makes itself. */
import { constants as modes, type Stats } from 'node:fs'
import { open, readFile, stat } from 'node:fs/promises'
import { type KeyRing, newKey, parseKeyRing } from '../core/secret/key-ring.ts'

/** Where keys are looked for. */
export interface KeySettings {
  /** Keys as the environment has them. */
  readonly keys: string | null
  /** A file that must exist. */
  readonly file: string | null
  /** The file in the data directory of an embedded database, which is made when it is first needed. */
  readonly ownFile: string | null
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
  async read(): Promise<ReadKeys> {
    const { keys, file, ownFile } = this.#settings
    if (keys !== null) {
      this.#read ??= { ring: ringOf(keys, 'BELFRY_SECRETS_KEY'), openTo: null }
      return this.#read
    }
    const path = file ?? ownFile
    if (path === null) return NO_KEYS
    const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' && file === null) return null
      throw unreadable(path, error)
    })
    if (found === null) return NO_KEYS
    const mark = `${found.mtimeMs} ${found.size} ${found.ino} ${found.mode}`
    if (this.#read && mark === this.#mark) return this.#read
    const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw unreadable(path, error)
    })
    this.#read = { ring: ringOf(text, `The file ${path}`), openTo: isOpen(found) ? path : null }
    this.#mark = mark
    return this.#read
  }

  /** Makes a key where that is this node's to do; of two who do so at once one makes it, and both read it. */
  async make(): Promise<boolean> {
    const { keys, file, ownFile } = this.#settings
    if (keys !== null || file !== null || ownFile === null) return false
    try {
      const made = await open(ownFile, 'wx', 0o600)
      try {
        await made.writeFile(`${newKey()}\n`)
        await made.sync()
      } finally {
        await made.close()
      }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw unreadable(ownFile, error as Error)
    }
    return true
  }
}

function ringOf(text: string, place: string): KeyRing {
  const read = parseKeyRing(text)
  if (read.ok) return read.ring
  throw new KeySourceError(`${place} ${read.reason}.`)
}

const unreadable = (path: string, error: Error) =>
  new KeySourceError(`The file of secrets keys cannot be read: ${path}: ${error.message}.`)

const isOpen = ({ mode }: Stats): boolean =>
  process.platform !== 'win32' && (mode & (modes.S_IRWXG | modes.S_IRWXO)) !== 0
