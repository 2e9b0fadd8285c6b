/** Files: programs and other bytes that tasks use. */

/** What is uploaded and stored at once. Nothing keeps more than a few of them in memory. */
export const CHUNK_BYTES = 256 * 1024

export const MAX_FILE_NAME_CHARACTERS = 255

/** What is wrong with the name of a file, or null. Names become names in a directory. */
export function fileNameProblem(name: string): string | null {
  if (name === '' || name.length > MAX_FILE_NAME_CHARACTERS)
    return `must be 1 to ${MAX_FILE_NAME_CHARACTERS} characters long`
  if (/[/\\]/.test(name)) return 'must not contain slashes or backslashes'
  if (/[\p{Cc}\p{Cs}\u2028\u2029]/u.test(name)) return 'must not contain control characters'
  if (name === '.' || name === '..') return 'must not be . or ..'
  return name.trim() === name ? null : 'must not begin or end with a space'
}

/** SHA-256 as it is written everywhere. */
export const SHA256 = /^[0-9a-f]{64}$/
