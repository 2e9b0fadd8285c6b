/**
 * Text for a terminal. Names chosen by users may contain any characters; those that would move the cursor, change colours,
 * begin a new line or change the direction of text are escaped.
 */

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped)
}

/** Does the same for text of several lines. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line.replaceAll('\t', '  ')))
    .join('\n')
}

/** Escaped as in JSON, so that JSON text keeps its value. */
const escaped = (character: string) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
