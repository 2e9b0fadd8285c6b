/** Formats tables and facts for the terminal, and measures the width of text. */
import { type Counted, waitingOf } from '../../core/values/counted.ts'

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are made of them.
const COLOUR = /\u001b\[\d+m/g
const PLAIN = /^[\x20-\x7e–…✓·]*$/

/**
 * Splits text into what a reader sees as single characters. Created on first use: it loads tables, and most text is plain
 * ASCII.
 */
let segmenter: Intl.Segmenter | undefined
function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter()
  return segmenter.segment(text)
}

/** Number of terminal columns that the text occupies: emoji and ideographs occupy two. */
export function widthOf(text: string): number {
  const seen = text.includes('\u001b') ? text.replace(COLOUR, '') : text
  if (PLAIN.test(seen)) return seen.length
  let width = 0
  for (const { segment } of segmentsOf(seen)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** Truncates text to a number of columns, with an ellipsis if something was cut. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let kept = ''
  for (const { segment } of segmentsOf(text)) {
    if (widthOf(kept + segment) > width - 1) break
    kept += segment
  }
  return `${kept}…`
}

/** `1 task`, `2 tasks`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count} ${count === 1 ? one : many}`

/** Formats columns under headings, each as wide as its widest cell. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(widthOf(heading), ...rows.map((row) => widthOf(row[column] ?? ''))),
  )
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - widthOf(cell))))
      .join('  ')
      .trimEnd()
  return [headings, ...rows].map((cells) => `${line(cells)}\n`).join('')
}

/** Formats facts, one per line, with aligned values. */
export function facts(pairs: readonly (readonly [string, string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length))
  return pairs
    .map(
      ([name, text]) => `  ${name.padEnd(width)}  ${text.replaceAll('\n', `\n  ${' '.repeat(width)}  `)}\n`,
    )
    .join('')
}

/** Marks a count that stopped at its limit. */
export const countWords = ({ count, atLeast }: Counted): string => `${count}${atLeast ? '+' : ''}`

/** The number of runs that wait in a queue or for a target. */
export const waitingWords = (of: { readonly waiting: number }): string => countWords(waitingOf(of))
