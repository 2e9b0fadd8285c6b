/**
 * Errors of starting the embedded database. `message` says what is wrong and `hint` what to do about it, one sentence each, so
 * that they can be printed one after the other.
 */
export type EmbeddedPostgresErrorCode =
  | 'unsupported_platform'
  | 'musl'
  | 'data_dir_unwritable'
  | 'data_dir_in_use'
  | 'data_dir_unrecognised'
  | 'unreachable_directory'
  | 'unsafe_directory'
  | 'unusable_user'
  | 'password_missing'
  | 'older_major'
  | 'newer_major'
  | 'disk_full'
  | 'start_failed'

/** The process that holds the data directory. */
export interface HolderOfDataDir {
  readonly pid: number
  readonly url: string | null
}

export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError'
  readonly code: EmbeddedPostgresErrorCode
  readonly hint: string
  /** Set with `data_dir_in_use`, when the holder is known. */
  readonly holder: HolderOfDataDir | null

  constructor(
    code: EmbeddedPostgresErrorCode,
    message: string,
    hint: string,
    options: { cause?: unknown; holder?: HolderOfDataDir } = {},
  ) {
    super(message, { cause: options.cause })
    this.code = code
    this.hint = hint
    this.holder = options.holder ?? null
  }
}

/** Describes an error of a file operation. Errors unrelated to the file system are returned unchanged. */
export function describeFileError(error: unknown, path: string): unknown {
  switch (errnoOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new EmbeddedPostgresError('disk_full', `Cannot write ${path}: no space left.`, USE_ANOTHER_DIR, {
        cause: error,
      })
    case 'EROFS':
      return unwritable(path, 'the file system is read-only', error)
    case 'EACCES':
    case 'EPERM':
      return unwritable(path, 'permission denied', error)
    case 'ENOTDIR':
    case 'EEXIST':
      return unwritable(path, 'a file is in the way of the directory', error)
    case 'ENOENT':
      return unwritable(path, 'nothing can be created there', error)
    case 'EINVAL':
      return unwritable(path, 'its owner cannot be changed here', error)
    default:
      return error
  }
}

export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined
}

export const USE_ANOTHER_DIR = 'Free disk space, or use --data-dir DIR.'

function unwritable(path: string, reason: string, cause: unknown): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    'data_dir_unwritable',
    `Cannot write ${path}: ${reason}.`,
    'Use --data-dir DIR.',
    {
      cause,
    },
  )
}
