/** The words that both sides of the grammar know, in lower case. */

export const WEEKDAY_WORDS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

export const MONTH_WORDS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
]

export const ORDINAL_WORDS = ['first', 'second', 'third', 'fourth', 'fifth', 'last']

/** Units of durations, largest first, with their milliseconds. */
export const UNIT_WORDS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

/** More dates than this are counted rather than named. */
export const MAX_DATES_IN_WORDS = 10

export const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** "a", "a and b", "a, b and c". */
export const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
