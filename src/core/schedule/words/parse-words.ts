/**
 * Schedules written in words. What the grammar understands it understands in one way only, and `describeSchedule`
 * says every schedule that it can express in words that mean the same here again. What it does not understand it
 * refuses, with the place where it stopped, what would have gone on from there, and the nearest form.
 *
 *     schedule  = sentence { ";" sentence }
 *     sentence  = "every" duration [ ", counted from" instant ]
 *               | "every" steps [ "between" hour "and" hour | "by the clock" ] [ "on" days ] [ zone ]
 *               | "every hour at minute(s)" minutes [ "on" days ] [ zone ]
 *               | days [ [ "at" ] times ] [ zone ] | "at" times days [ zone ]
 *               | ( "daily" | "weekly" | "monthly" | "yearly" ) [ "on" days ] [ "at" times ] [ zone ]
 *               | [ "on" ] dates [ zone ] | ( "today" | "tomorrow" | "next" weekday ) [ "at" ] time [ zone ]
 *               | [ "once at" ] instant | "in" duration | "now"
 *               | cron expression [ "(" zone ")" ]
 *               | duration "after the previous run has ended" | "only when triggered"
 */
import { formatDuration } from '../../values/duration.ts'
import type { Schedule, Trigger } from '../schedule.ts'
import { validateSchedule } from '../validate-schedule.ts'
import { nearestForm } from './nearest-form.ts'
import { readDates, readIn, readOnce, readRelativeDate } from './read-once.ts'
import { readPlace } from './read-place.ts'
import { readDuration, readInstant, readUnit } from './read-values.ts'
import { readWallClock } from './read-wall-clock.ts'
import { Reader } from './reader.ts'

/** Enough for twenty sentences of one line each. */
export const MAX_WORDS_LENGTH = 2_000

export type ParsedWords =
  | { readonly ok: true; readonly schedule: Schedule }
  | { readonly ok: false; readonly reason: string }

/** What the meaning of words depends on. */
export interface WordsOptions {
  /** Epoch milliseconds, for "in 10 minutes". */
  readonly now: number
  /** The zone of wall times without a zone. Default UTC. */
  readonly timezone?: string
}

export function parseWords(text: string, options: WordsOptions): ParsedWords {
  if (text.length > MAX_WORDS_LENGTH)
    return { ok: false, reason: `is ${text.length} characters long; the maximum is ${MAX_WORDS_LENGTH}` }
  const reader = new Reader(text.replace(/[\t\r\n]/g, ' '))
  const schedule = readSchedule(reader, options)
  if (schedule === null || !reader.isAtEnd) return { ok: false, reason: refusal(reader, options) }
  const check = validateSchedule(schedule)
  if (check.ok) return { ok: true, schedule }
  const [problem] = check.problems
  return { ok: false, reason: `is understood, but ${problem?.pointer.slice(1)} ${problem?.detail}` }
}

function refusal(reader: Reader, options: WordsOptions): string {
  const { at, expected } = reader.stop
  const understood = reader.text.slice(0, at).trim()
  const rest = reader.text.slice(at).trim()
  const found =
    rest === '' ? 'the text ends' : `"${rest.length > 30 ? `${rest.slice(0, 30)}…` : rest}" is not recognised`
  const form = nearestForm(reader.text, (text) => readsAll(text, options))
  const nearest = `The closest supported form is "${form}"`
  if (understood === '') return `is not understood: ${found}. ${nearest}`
  const shown = understood.length > 60 ? `…${understood.slice(-60)}` : understood
  const choices = expected.length === 0 ? '' : `; expected ${expected.slice(0, MAX_EXPECTED).join(', or ')}`
  return `is not understood after "${shown}": ${found} (character ${at + 1})${choices}. ${nearest}`
}

/** Maximum number of alternatives in a message. */
const MAX_EXPECTED = 8

function readsAll(text: string, options: WordsOptions): boolean {
  const reader = new Reader(text)
  const schedule = readSchedule(reader, options)
  return schedule !== null && reader.isAtEnd && validateSchedule(schedule).ok
}

function readSchedule(reader: Reader, options: WordsOptions): Schedule | null {
  const first = readSentence(reader, options)
  if (first === null) return null
  if (reader.isAtEnd || reader.take(/;/y, '";" and another schedule') === null) return first
  const triggers = partsOf(first)
  do {
    const next = readSentence(reader, options)
    if (next === null) return null
    triggers.push(...partsOf(next))
  } while (!reader.isAtEnd && reader.take(/;/y, '";" and another schedule') !== null)
  // `validateSchedule`, which is called afterwards, rejects triggers that cannot be combined and reports why.
  return { type: 'several', triggers: triggers as Trigger[] }
}

const partsOf = (schedule: Schedule): Schedule[] =>
  schedule.type === 'several' ? [...schedule.triggers] : [schedule]

function readSentence(reader: Reader, options: WordsOptions): Schedule | null {
  const forms = [
    readCron,
    readManual,
    readDelay,
    readIn,
    readOnce,
    readRelativeDate,
    readDates,
    readWallClock,
    readEvery,
  ]
  for (const form of forms) {
    const schedule = reader.attempt(() => form(reader, options))
    if (schedule !== null) return schedule
  }
  return null
}

/** An alias, or fields of which the first two consist of digits and signs; no sentence begins like that. */
const CRON = /@\w+|(?=\S+\s+[\d*?h][\d*?,/()h-]*(?:\s|$))[\d*?h][\d*?,/()h-]*(?:\s+[\w*?][\w*?,#/()-]*)*/iy

/** Reads a cron expression as it is; `validateSchedule` reports what is wrong with it. */
function readCron(reader: Reader, options: WordsOptions): Schedule | null {
  const match = reader.take(CRON, 'a cron expression such as 0 9 * * MON-FRI')
  const place = match === null ? null : readPlace(reader, options)
  return match === null || place === null ? null : { type: 'cron', expression: match[0], ...place }
}

function readManual(reader: Reader): Schedule | null {
  const others = ['when triggered', 'manually', 'manual', 'on demand']
  const isManual =
    reader.words('only when triggered') || reader.quietly(() => others.some((words) => reader.words(words)))
  return isManual ? { type: 'manual' } : null
}

function readDelay(reader: Reader): Schedule | null {
  const ms = readDuration(reader)
  if (ms === null) return null
  const others = ['after the previous run', 'after each run', 'after every run', 'after the last run']
  const isDelay =
    reader.words('after the previous run has ended') ||
    reader.quietly(() => {
      const isShort = others.some((words) => reader.words(words))
      if (isShort) reader.oneOf(['ends', 'finishes', 'completes', 'has ended', 'has finished'], '')
      return isShort
    })
  return isDelay ? { type: 'delay', interval: formatDuration(ms) } : null
}

/** Reads a fixed rate. It is tried last, because the other forms contain more than that. */
function readEvery(reader: Reader): Schedule | null {
  if (!reader.words('every') && !reader.quietly(() => reader.words('each'))) return null
  const isOther = reader.quietly(() => reader.words('other'))
  const ms = (isOther ? null : readDuration(reader)) ?? readUnit(reader)
  if (ms === null) return null
  const interval = formatDuration(isOther ? ms * 2 : ms)
  if (reader.take(/,\s*counted\s+from(?!\w)/iy, '", counted from" and an instant') === null)
    return { type: 'every', interval }
  const anchor = readInstant(reader)
  return anchor === null ? null : { type: 'every', interval, anchor }
}
