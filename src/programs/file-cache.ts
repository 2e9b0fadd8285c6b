/**
 * Cache of uploaded files on a worker's disk, by the hash of their content. A file is verified before each use, so damage by a
 * crash, a disk or another process is detected and the file is fetched again. Several processes can share a folder: a file
 * appears under its name only once complete, and no process removes recently used files.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat, utimes } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

export interface FileCacheOptions {
  readonly folder: string
  /** Maximum total size. Files in use are kept even beyond it. */
  readonly maxBytes: number
}

/** A file with its expected content, and a function that reads it from storage. */
export interface WantedFile {
  readonly sha256: string
  readonly size: number
  /** Reads it from where it is stored. */
  read(): AsyncIterable<Buffer>
}

/** The fetched content does not match the expected size and hash. */
export class DamagedFile extends Error {
  override readonly name = 'DamagedFile'
}

/** Minimum time that a file is kept after its last use began. */
const KEPT_MS = 60_000
/** A download older than this was abandoned by a process that died. */
const ABANDONED_MS = 24 * 3_600_000
/** Maximum number of files examined when making room. */
const MAX_FILES = 10_000
const NAME = /^[0-9a-f]{64}$/
const PART = /^[0-9a-f-]{36}\.part$/
/** Required for the sandbox to provide the file to programs without copying it. */
const MODE = 0o755
const READ_BYTES = 1024 * 1024

export class FileCache {
  readonly #options: FileCacheOptions
  /** Files that are being verified or fetched. */
  readonly #opening = new Map<string, Promise<string>>()
  #isOpen: Promise<unknown> | undefined

  constructor(options: FileCacheOptions) {
    this.#options = options
  }

  get folder(): string {
    return this.#options.folder
  }

  /**
   * Returns the path of a file with verified content. The file stays there for at least a minute, so that the caller can link
   * or copy it.
   */
  get(wanted: WantedFile): Promise<string> {
    const { sha256 } = wanted
    const opening =
      this.#opening.get(sha256) ?? this.#open(wanted).finally(() => this.#opening.delete(sha256))
    this.#opening.set(sha256, opening)
    return opening
  }

  async #open(wanted: WantedFile): Promise<string> {
    this.#isOpen ??= mkdir(this.#options.folder, { recursive: true, mode: 0o700 })
    await this.#isOpen
    const path = join(this.#options.folder, wanted.sha256)
    if (await this.#isGood(path, wanted)) return path
    await this.#fetch(path, wanted)
    return path
  }

  /** Updates the time of use first, so that no process removes the file during verification. */
  async #isGood(path: string, { sha256, size }: WantedFile): Promise<boolean> {
    try {
      const now = new Date()
      await utimes(path, now, now)
      if ((await stat(path)).size !== size) return false
      const hash = createHash('sha256')
      await pipeline(createReadStream(path, { highWaterMark: READ_BYTES }), hash)
      return hash.digest('hex') === sha256
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false
      throw error
    }
  }

  async #fetch(path: string, wanted: WantedFile): Promise<void> {
    await this.#makeRoom(wanted.size)
    const part = join(this.#options.folder, `${randomUUID()}.part`)
    try {
      await write(part, wanted)
      await rename(part, path)
    } catch (error) {
      await rm(part, { force: true })
      throw error
    }
  }

  /**
   * Removes the least recently used files until there is room. Several processes doing so at once remove little more than
   * necessary.
   */
  async #makeRoom(bytes: number): Promise<void> {
    const { folder, maxBytes } = this.#options
    const files = await this.#files()
    let total = files.reduce((sum, { size }) => sum + size, 0) + bytes
    for (const { name, size, usedAt } of files.sort((a, b) => a.usedAt - b.usedAt)) {
      if (total <= maxBytes) return
      if (Date.now() - usedAt < KEPT_MS) return
      await rm(join(folder, name), { force: true })
      total -= size
    }
  }

  async #files(): Promise<{ name: string; size: number; usedAt: number }[]> {
    const { folder } = this.#options
    const files: { name: string; size: number; usedAt: number }[] = []
    for (const name of (await readdir(folder)).slice(0, MAX_FILES)) {
      const isPart = PART.test(name)
      if (!isPart && !NAME.test(name)) continue
      const found = await stat(join(folder, name)).catch(() => null)
      if (found === null) continue
      if (isPart && Date.now() - found.mtimeMs > ABANDONED_MS) await rm(join(folder, name), { force: true })
      else if (!isPart) files.push({ name, size: found.size, usedAt: found.mtimeMs })
    }
    return files
  }
}

async function write(path: string, { sha256, size, read }: WantedFile): Promise<void> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx', MODE)
  let written = 0
  try {
    for await (const bytes of read()) {
      written += bytes.length
      if (written > size) break
      hash.update(bytes)
      await file.writeFile(bytes)
    }
    await file.chmod(MODE)
  } finally {
    await file.close()
  }
  if (written !== size || hash.digest('hex') !== sha256)
    throw new DamagedFile(`the stored content is not the ${size} bytes with the SHA-256 ${sha256}`)
}
