/**
 * Whether a command printed what the page shows. Ids, instants, durations and versions differ from one day and machine to
 * the next, so those are alike; everything else is compared as it is. `…` stands for any text of a line, and a line of it
 * alone for any number of lines.
 */
const ALIKE: readonly (readonly [RegExp, string])[] = [
  // How long a step of the start took, which is told only of a slow one.
  [/ {2,}\d+(\.\d+)? s$/g, ''],
  [/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<id>'],
  [/\b[0-9a-f]{16}\b/g, '<hash>'],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)/g, '<instant>'],
  [/\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d+ [A-Z][a-z]{2}( \d{4})?, \d\d:\d\d(:\d\d(\.\d+)?)?/g, '<day>'],
  [/\b\d\d:\d\d:\d\d(\.\d+)?\b/g, '<clock>'],
  [/\bnow\b|(?:\bin )?-?\b\d+(\.\d+)? (ms|s|m|h|d)( \d+ (s|m|h))?( ago)?\b/g, '<duration>'],
  [/(?<![\d.])\d+\.\d+\.\d+(-\w+)?(\+\w+)?(?![\d.])/g, '<version>'],
  [/PostgreSQL \d+\.\d+/g, 'PostgreSQL <version>'],
  [/^[\w.-]+\/\d+(?= )/g, '<host>/<pid>'],
  [/(\d+ of )?\d+ migrations/g, '<count> migrations'],
]

/** Days of the current year are shown without it, and a page outlives the year in which it was written. */
const THIS_YEAR = / \d{4}(?=, \d\d:\d\d)/g

export interface Comparison {
  /** Dates and times of day are as written on the page. */
  readonly areTimesExact: boolean
}

/** How many lines of `actual` the expected ones are, or null when they are not there. From the start of it, and to its end if `isWhole`. */
export function endOfMatch(
  expected: readonly string[],
  actual: string,
  { areTimesExact, isWhole }: Comparison & { isWhole: boolean },
): number | null {
  const parts = expected.map((line) =>
    line === '…' ? '(?:.*\\n)*?' : `${patternOf(line, areTimesExact)} *\\n`,
  )
  const pattern = new RegExp(`^\\n*${parts.join('')}${isWhole ? '\\n*$' : ''}`)
  const lines = actual.split('\n')
  const match = pattern.exec(lines.map((line) => normalise(line, areTimesExact)).join('\n'))
  return match === null ? null : match[0].split('\n').length - 1
}

function patternOf(line: string, areTimesExact: boolean): string {
  return normalise(line, areTimesExact)
    .split('…')
    .map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&'))
    .join('.*')
}

function normalise(line: string, areTimesExact: boolean): string {
  const isAboutTime = (word: string) => /instant|day|clock/.test(word)
  return ALIKE.filter(([, word]) => !(areTimesExact && isAboutTime(word)))
    .reduce((text, [what, word]) => text.replace(what, word), line)
    .replace(THIS_YEAR, '')
    .replace(/(?<=\S) {2,}/g, ' ')
    .trimEnd()
}
