/** The words that parsing and describing share, in lower case. */

export const WEEKDAY_WORDS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday']

/** Abbreviations of weekdays. The first three letters always suffice. */
const SHORT_WEEKDAYS = ['mon', 'tues', 'tue', 'weds', 'wed', 'thurs', 'thur', 'thu', 'fri', 'sat', 'sun']

/** Every spelling of a weekday, plurals first, so that the longest one is found. */
export const WEEKDAY_SPELLINGS = [...WEEKDAY_WORDS.flatMap((day) => [`${day}s`, day]), ...SHORT_WEEKDAYS]

/** Index of a weekday; Monday is 0. */
export const weekdayIndex = (spelling: string): number =>
  WEEKDAY_WORDS.findIndex((day) => day.startsWith(spelling.slice(0, 3)))

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

export const MONTH_SPELLINGS = [...MONTH_WORDS, 'sept', ...MONTH_WORDS.map((month) => month.slice(0, 3))]

/** Index of a month; January is 0. */
export const monthIndex = (spelling: string): number =>
  MONTH_WORDS.findIndex((month) => month.startsWith(spelling.slice(0, 3)))

export const ORDINAL_WORDS = ['first', 'second', 'third', 'fourth', 'fifth', 'last']

/** Units of durations, largest first, with their milliseconds. Weeks are accepted, but described in days. */
export const UNIT_WORDS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
  ['millisecond', 1],
] as const

/** Each spelling of a unit, the longest first, with its milliseconds. */
export const UNIT_SPELLINGS: ReadonlyMap<string, number> = new Map([
  ...[['week', 604_800_000] as const, ...UNIT_WORDS].flatMap(([name, ms]): [string, number][] => [
    [`${name}s`, ms],
    [name, ms],
  ]),
  ['hrs', 3_600_000],
  ['hr', 3_600_000],
  ['mins', 60_000],
  ['min', 60_000],
  ['secs', 1_000],
  ['sec', 1_000],
])

/** Small numbers as words. */
export const NUMBER_WORDS: ReadonlyMap<string, number> = new Map([
  ['an', 1],
  ['a', 1],
  ['one', 1],
  ['two', 2],
  ['three', 3],
  ['four', 4],
  ['five', 5],
  ['six', 6],
  ['seven', 7],
  ['eight', 8],
  ['nine', 9],
  ['ten', 10],
  ['twelve', 12],
  ['fifteen', 15],
  ['twenty', 20],
  ['thirty', 30],
])

/** Longer lists of dates are described by their number. */
export const MAX_DATES_IN_WORDS = 10

export const capitalised = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)

/** "a", "a and b", "a, b and c". */
export const listed = (items: readonly string[]): string =>
  items.length < 2 ? items.join('') : `${items.slice(0, -1).join(', ')} and ${items.at(-1)}`
