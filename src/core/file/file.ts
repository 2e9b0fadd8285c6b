/** Files: programs and other bytes that tasks use. */

/** Size of the pieces in which files are uploaded and stored. No process keeps more than a few of them in memory. */
export const CHUNK_BYTES = 256 * 1024

export const MAX_FILE_NAME_CHARACTERS = 255

/** Returns what is wrong with the name of a file, or null. Names are used as file names in a directory. */
export function fileNameProblem(name: string): string | null {
  if (name === '' || name.length > MAX_FILE_NAME_CHARACTERS)
    return `must be 1 to ${MAX_FILE_NAME_CHARACTERS} characters long`
  if (/[/\\]/.test(name)) return 'must not contain slashes or backslashes'
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) return 'must not contain control characters'
  if (name === '.' || name === '..') return 'must not be . or ..'
  return name.trim() === name ? null : 'must not begin or end with a space'
}

/** SHA-256 in hexadecimal, the form used everywhere. */
export const SHA256 = /^[0-9a-f]{64}$/
