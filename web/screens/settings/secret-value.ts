/** The value of a secret as it is typed or pasted. */

/** One line break at the end is removed, as on the command line: it comes from copying a line. */
export const sentValue = (typed: string): string => typed.replace(/\r?\n$/, '')

/** A field for one line would silently join the lines of such a text. */
export const hasSeveralLines = (text: string): boolean => /[\r\n]/.test(sentValue(text))

interface Selection {
  readonly value: string
  readonly start: number
  readonly end: number
}

/** The text of a field after something is pasted over its selection, with line breaks as a field for several lines has them. */
export function pasted(text: string, { value, start, end }: Selection) {
  const before = value.slice(0, start) + text.replace(/\r\n?/g, '\n')
  return { value: before + value.slice(end), caret: before.length }
}
