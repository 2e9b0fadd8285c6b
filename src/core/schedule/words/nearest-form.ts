/**
 * A suggestion for a text that cannot be parsed: the text with its misspelt words corrected if that can be parsed, otherwise
 * the most similar form of the grammar.
 */
import { nearest } from '../../words/nearest.ts'
import { MONTH_WORDS, NUMBER_WORDS, ORDINAL_WORDS, UNIT_SPELLINGS, WEEKDAY_WORDS } from './vocabulary.ts'

/** An example of each form, in its most common words. */
const FORMS = [
  'daily at 9:00',
  'every weekday at 9:00',
  'every day at 9:00',
  'every monday at 9:00',
  'every monday and thursday at 9:00',
  'every 15 minutes',
  'every hour at minute 5',
  'every 15 minutes between 8 and 18',
  'every hour between 9 and 17 on weekdays',
  'every 2 hours',
  'every 30 seconds',
  'first monday of the month at 10:00',
  'last day of the month at 18:00',
  'on the 1st and 15th of the month at 9:00',
  'every year on 24 December at 18:00',
  'tomorrow at 9:00',
  'today at 17:00',
  'next monday at 9:00',
  'on 2026-12-24 at 18:00',
  'in 10 minutes',
  'every weekday at 9:00 in Tokyo',
  '10 minutes after the previous run has ended',
  'only when triggered',
] as const

const KNOWN = [
  ...new Set([
    ...FORMS.flatMap((form) => form.toLowerCase().match(/[a-z]+/g) ?? []),
    ...WEEKDAY_WORDS.flatMap((day) => [day, `${day}s`]),
    ...[
      'weekday',
      'weekdays',
      'weekend',
      'weekends',
      'noon',
      'midnight',
      'morning',
      'evening',
      'night',
      'except',
      'daily',
      'weekly',
      'monthly',
      'hourly',
    ],
    ...MONTH_WORDS,
    ...ORDINAL_WORDS,
    ...UNIT_SPELLINGS.keys(),
    ...NUMBER_WORDS.keys(),
  ]),
]
/**
 * Words are corrected only in texts up to this length: a longer one rarely has a single wrong word, and each word is compared
 * with all known ones.
 */
const MAX_WORDS = 20
/** Shorter words are not corrected, because they are similar to too many others. */
const MIN_CORRECTED = 4

export function nearestForm(text: string, canBeRead: (text: string) => boolean): string {
  const short = text.length > 200 ? text.slice(0, 200) : text
  const corrected = spelt(short)
  return corrected !== null && canBeRead(corrected) ? corrected : mostAlike(short)
}

function spelt(text: string): string | null {
  if (text.trim().split(/\s+/).length > MAX_WORDS) return null
  const corrected = text.replace(/(?<![\w/])[a-z]+(?![\w/])/gi, (word) => {
    const lower = word.toLowerCase()
    if (lower.length < MIN_CORRECTED || KNOWN.includes(lower)) return word
    const candidate = nearest(lower, KNOWN)
    return Math.abs(candidate.length - lower.length) <= 2 ? candidate : word
  })
  return corrected === text ? null : corrected.trim()
}

function mostAlike(text: string): string {
  const words = piecesOf(text)
  const ranked = FORMS.map((form) => ({ form, shared: sharedShare(words, piecesOf(form)) }))
  ranked.sort((a, b) => b.shared - a.shared)
  return ranked[0]?.form ?? FORMS[0]
}

/** The distinct words of a text without a plural s. All times and numbers count as the same word. */
const piecesOf = (text: string): Set<string> =>
  new Set(
    (text.toLowerCase().match(/\d[\d:]*(?:\s*[ap]m)?|[a-z]+/g) ?? []).map((piece) =>
      /^\d/.test(piece) ? '0' : piece.replace(/s$/, ''),
    ),
  )

function sharedShare(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const shared = [...a].filter((piece) => b.has(piece)).length
  return (2 * shared) / (a.size + b.size)
}
