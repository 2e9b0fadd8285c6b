import { UPLOAD_HOURS } from '../operations/files/addresses.ts'
import { releaseContents } from '../operations/files/files.ts'
import type { Database } from '../store/database/database.ts'
import { deleteDroppedChunks, deleteDroppedContents } from '../store/files/contents.ts'
import { deleteFiles, lockUnusedFiles, renewUsedFiles } from '../store/files/uses.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Maximum number of files of each kind examined in one pass. */
const MAX_FILES = 100
/** Maximum number of chunks deleted in one pass: 128 MiB. */
const MAX_CHUNKS = 512
const MAX_CONTENTS = 100
const HOURS_A_DAY = 24

export interface UnusedFilesOptions {
  readonly db: Database
  readonly log: Logger
  /** Files unused for longer are removed; 0 removes none. */
  readonly days: number
}

/**
 * Removes files that no task and no live run has named for a long time, uploads that were never finished, and the content of
 * both. A file that is in use is marked as used now. Safe to run on every node at once, and concurrently with tasks that begin
 * to use one of the files: a use references its file, which is locked.
 */
export class UnusedFiles {
  readonly #options: UnusedFilesOptions

  constructor(options: UnusedFilesOptions) {
    this.#options = options
  }

  /** Makes one pass; returns true if there may be more to remove. */
  async runOnce(): Promise<boolean> {
    const { db, days } = this.#options
    const unfinished = await this.#remove('waiting', UPLOAD_HOURS)
    const unused = days === 0 ? 0 : await this.#remove('ready', days * HOURS_A_DAY)
    const chunks = await db.run(deleteDroppedChunks(MAX_CHUNKS))
    await db.run(deleteDroppedContents(MAX_CONTENTS))
    return unfinished === MAX_FILES || unused === MAX_FILES || chunks.length > 0
  }

  /** Removes unused files; returns how many were examined. */
  async #remove(state: 'waiting' | 'ready', hours: number): Promise<number> {
    const { db, log } = this.#options
    const { found, removed } = await db.transaction(async (tx) => {
      const locked = await tx.run(lockUnusedFiles({ state, hours, limit: MAX_FILES }))
      if (locked.length === 0) return { found: 0, removed: [] }
      const used = new Set((await tx.run(renewUsedFiles(locked.map(({ id }) => id)))).map(({ id }) => id))
      const unused = locked.filter(({ id }) => !used.has(id))
      await tx.run(deleteFiles(unused.map(({ id }) => id)))
      await releaseContents(
        tx,
        unused.flatMap(({ contentId }) => contentId ?? []),
      )
      return { found: locked.length, removed: unused }
    })
    if (removed.length > 0)
      log.info(
        { files: removed.length, state },
        state === 'ready' ? 'unused files removed' : 'unfinished uploads removed',
      )
    return found
  }
}
