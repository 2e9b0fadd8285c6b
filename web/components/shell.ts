/** Quotes text for a POSIX shell. */

const NEEDS_NO_QUOTES = /^[\w/:.,@%+=-]+$/

/** Inside single quotes, a single quote must be closed, escaped and reopened. */
export function quote(text: string): string {
  return NEEDS_NO_QUOTES.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A command on one line. */
export const shellLine = (parts: readonly (readonly string[])[]): string => parts.flat().map(quote).join(' ')

/** A command with each of its parts on a separate line. */
export function shellLines(parts: readonly (readonly string[])[]): string {
  return parts.map((words) => words.map(quote).join(' ')).join(' \\\n  ')
}
