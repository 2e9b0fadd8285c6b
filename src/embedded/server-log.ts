/** The server's log: bounded in size, and read to explain why a start failed. */

import {
  closeSync,
  constants,
  copyFileSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  statSync,
  truncateSync,
} from 'node:fs'
import type { DataDirectory } from './data-directory.ts'
import { EmbeddedPostgresError, USE_ANOTHER_DIR } from './errors.ts'
import { withRightsOf } from './rights.ts'

const MAX_LOG_BYTES = 10 * 1024 * 1024
const MAX_TAIL_BYTES = 64 * 1024

type Log = Pick<DataDirectory, 'log' | 'owner'>

/** The server appends through an open descriptor, so the file is truncated in place and never renamed. */
export function boundLog({ log, owner }: Log): void {
  withRightsOf(owner, () => {
    const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
    if (size <= MAX_LOG_BYTES) return
    rmSync(`${log}.1`, { force: true })
    copyFileSync(log, `${log}.1`, constants.COPYFILE_EXCL)
    truncateSync(log)
  })
}

/** Returns what was written after byte `from`, at most the last 64 KiB. */
export function readLogSince({ log, owner }: Log, from: number): string {
  const file = withRightsOf(owner, () => openSync(log, 'r'))
  try {
    const { size } = fstatSync(file)
    const start = Math.max(from, size - MAX_TAIL_BYTES)
    const buffer = Buffer.alloc(Math.max(0, size - start))
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, start))
  } finally {
    closeSync(file)
  }
}

export function tellsOfRecovery(text: string): boolean {
  return /was not properly shut down|was interrupted/.test(text)
}

/** Whether the start failed only because processes of the previous server still exist. */
export function tellsOfLingering(text: string): boolean {
  return /pre-existing shared memory block|lock file "[^"]+" already exists/.test(text)
}

/** Explains from its output why the server or initdb failed. */
export function explainFailure(
  text: string,
  { root, log }: { root: string; log: string },
): EmbeddedPostgresError {
  if (text.includes('No space left on device') || text.includes('Disk quota exceeded')) {
    return new EmbeddedPostgresError('disk_full', `Cannot write ${root}: no space left.`, USE_ANOTHER_DIR)
  }
  if (text.includes('Read-only file system')) {
    return new EmbeddedPostgresError(
      'data_dir_unwritable',
      `Cannot write ${root}: the file system is read-only.`,
      'Use --data-dir DIR.',
    )
  }
  const reason = /(?:FATAL|PANIC|error|ERROR):\s+(.+)/.exec(text)?.[1] ?? text.trim().split('\n').at(-1)
  return new EmbeddedPostgresError(
    'start_failed',
    `The embedded database did not start: ${reason || 'it gave no reason'}.`,
    `See ${log} for more, or use --database-url.`,
  )
}
