/**
 * Text on a terminal. What users have named may hold anything; characters that would move the cursor, change
 * colours, begin a new line or turn the direction of one are shown as what they are and never sent as they are.
 */

const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

export function printable(text: string): string {
  return text.replace(UNPRINTABLE, escaped)
}

/** The same for text of several lines. */
export function printableLines(text: string): string {
  return text
    .split(/\r?\n/)
    .map((line) => printable(line.replaceAll('\t', '  ')))
    .join('\n')
}

/** As JSON writes it, so that JSON stays the same value. */
const escaped = (character: string) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`
