/** Text for a POSIX shell, which must read it as exactly that text. */

const NEEDS_NO_QUOTES = /^[\w/:.,@%+=-]+$/

/** A single quote inside a shell's single quotes has to be left and entered again. */
export function quote(text: string): string {
  return NEEDS_NO_QUOTES.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** A command on one line. */
export const shellLine = (parts: readonly (readonly string[])[]): string => parts.flat().map(quote).join(' ')

/** A command with each of its parts on a separate line. */
export function shellLines(parts: readonly (readonly string[])[]): string {
  return parts.map((words) => words.map(quote).join(' ')).join(' \\\n  ')
}
