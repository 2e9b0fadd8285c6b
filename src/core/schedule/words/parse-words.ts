/**
 * Schedules written in words: a small, strict grammar. What it understands it understands in one way only, and
 * `describeSchedule` says every schedule that it can express in words that mean the same here again. What it
 * does not understand it refuses, with the place where it stopped and what would have gone on from there.
 *
 *     schedule  = sentence { ";" sentence }
 *     sentence  = "every" duration [ ", counted from" instant ]
 *               | "every" steps ( "between" hour "and" hour | "by the clock" ) [ "on" days ] [ zone ]
 *               | "every hour at minute(s)" minutes [ "on" days ] [ zone ]
 *               | ( "every" weekdays | [ "on the" ] days | "every year on" date ) [ "at" ] times [ zone ]
 *               | "on" dates [ zone ] | "once at" instant | "in" duration
 *               | cron expression [ "(" zone ")" ]
 *               | duration "after the previous run has ended" | "only when triggered"
 */
import { formatDuration } from '../../duration.ts'
import { type Schedule, type Trigger, validateSchedule } from '../schedule.ts'
import { readPlace } from './read-place.ts'
import { readDuration, readInstant, readList, readTime, readUnit } from './read-values.ts'
import { readWallClock } from './read-wall-clock.ts'
import { Reader } from './reader.ts'
import { MAX_DATES_IN_WORDS } from './vocabulary.ts'

/** Twenty sentences of a line each. */
export const MAX_WORDS_LENGTH = 2_000

export type ParsedWords =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly reason: string }

/** What words are read against. */
export interface WordsOptions {
  /** Epoch milliseconds, for "in 10 minutes". */
  readonly now: number
  /** The zone of wall times that name none. Default UTC. */
  readonly timezone?: string
}

const EXAMPLES =
  '"every weekday at 9:00", "every 15 minutes between 8 and 18", "last day of the month at 18:00", "every 2 hours", "on 2026-12-24 at 18:00", "in 10 minutes" or a cron expression'

export function parseWords(text: string, options: WordsOptions): ParsedWords {
  if (text.length > MAX_WORDS_LENGTH)
    return { ok: false, reason: `is ${text.length} characters long; allowed are ${MAX_WORDS_LENGTH}` }
  const reader = new Reader(text.replace(/[\t\r\n]/g, ' '))
  const schedule = readSchedule(reader, options)
  if (schedule === null || !reader.isAtEnd) return { ok: false, reason: refusal(reader) }
  const verdict = validateSchedule(schedule)
  if (verdict.ok) return { ok: true, schedule }
  const [problem] = verdict.problems
  return { ok: false, reason: `is understood, but ${problem?.pointer.slice(1)} ${problem?.detail}` }
}

function refusal(reader: Reader): string {
  const { at, expected } = reader.stop
  const understood = reader.text.slice(0, at).trim()
  const rest = reader.text.slice(at).trim()
  const found =
    rest === '' ? 'the text ends' : `"${rest.length > 30 ? `${rest.slice(0, 30)}…` : rest}" is not understood`
  if (understood === '') return `cannot be read: ${found}; write for example ${EXAMPLES}`
  const shown = understood.length > 60 ? `…${understood.slice(-60)}` : understood
  return `cannot be read on after "${shown}": ${found} (character ${at + 1}); expected ${expected.join(', or ')}`
}

function readSchedule(reader: Reader, options: WordsOptions): Schedule | null {
  const first = readSentence(reader, options)
  if (first === null) return null
  if (reader.isAtEnd || reader.take(/;/y, '";" and another schedule') === null) return first
  const triggers = [first]
  do {
    const next = readSentence(reader, options)
    if (next === null) return null
    triggers.push(next)
  } while (!reader.isAtEnd && reader.take(/;/y, '";" and another schedule') !== null)
  // What cannot be joined is found by the validation that follows, which says why.
  return { type: 'several', triggers: triggers as Trigger[] }
}

function readSentence(reader: Reader, options: WordsOptions): Schedule | null {
  const forms = [readCron, readManual, readDelay, readIn, readOnce, readDates, readWallClock, readEvery]
  for (const form of forms) {
    const schedule = reader.attempt(() => form(reader, options))
    if (schedule !== null) return schedule
  }
  return null
}

/** An alias, or fields of which the first two are figures and signs: no sentence begins like that. */
const CRON = /@\w+|(?=\S+\s+[\d*?h][\d*?,/()h-]*(?:\s|$))[\d*?h][\d*?,/()h-]*(?:\s+[\w*?][\w*?,#/()-]*)*/iy

/** A cron expression as it is; what is wrong with it is for the validation to say. */
function readCron(reader: Reader, options: WordsOptions): Schedule | null {
  const match = reader.take(CRON, 'a cron expression such as 0 9 * * MON-FRI')
  const place = match === null ? null : readPlace(reader, options)
  return match === null || place === null ? null : { type: 'cron', expression: match[0], ...place }
}

const readManual = (reader: Reader): Schedule | null =>
  reader.words('only when triggered') ? { type: 'manual' } : null

function readDelay(reader: Reader): Schedule | null {
  const ms = readDuration(reader)
  if (ms === null || !reader.words('after the previous run has ended')) return null
  return { type: 'delay', interval: formatDuration(ms) }
}

function readIn(reader: Reader, { now }: WordsOptions): Schedule | null {
  if (!reader.words('in')) return null
  const ms = readDuration(reader)
  return ms === null ? null : { type: 'once', at: new Date(now + ms).toISOString() }
}

function readOnce(reader: Reader): Schedule | null {
  if (!reader.words('once')) return null
  reader.take(/,/y, '","')
  if (!reader.words('at')) return null
  const at = readInstant(reader)
  return at === null ? null : { type: 'once', at }
}

/** A fixed rate. It comes last: what says more than that is one of the other forms. */
function readEvery(reader: Reader): Schedule | null {
  if (!reader.words('every')) return null
  const ms = readDuration(reader) ?? readUnit(reader)
  if (ms === null) return null
  const interval = formatDuration(ms)
  if (reader.take(/,\s*counted\s+from(?!\w)/iy, '", counted from" and an instant') === null)
    return { type: 'every', interval }
  const anchor = readInstant(reader)
  return anchor === null ? null : { type: 'every', interval, anchor }
}

/** Dates written out, each a wall time or an instant. */
function readDates(reader: Reader, options: WordsOptions): Schedule | null {
  if (!reader.words('on')) return null
  const dates = readList(reader, readDate, MAX_DATES_IN_WORDS, 'dates')
  const place = dates === null ? null : readPlace(reader, options)
  return dates === null || place === null ? null : { type: 'dates', dates, ...place }
}

function readDate(reader: Reader): string | null {
  const instant = reader.attempt(() => readInstant(reader))
  if (instant !== null) return instant
  const day = reader.take(/\d{4}-\d\d-\d\d(?![\w-])/y, 'a date such as 2026-12-24')
  if (day === null) return null
  reader.words('at')
  const time = readTime(reader)
  if (time === null) return null
  const seconds = time.second === 0 ? '' : `:${two(time.second)}`
  return `${day[0]}T${two(time.hour)}:${two(time.minute)}${seconds}`
}

const two = (value: number): string => String(value).padStart(2, '0')
