/**
 * A cron expression in words. The grammar of parse-words.ts is used where it suffices, so that the words can be parsed again.
 * For other expressions cronstrue phrases the fields. The sentence is put together here, because cronstrue joins the two day
 * fields as if both had to match ("on day 1 of the month, and on Monday") while cron fires when either does, and because it
 * misreads or rejects lists with W, # and L.
 */
import cronstrue from 'cronstrue'
import { type CronFields, checkCron, holdsHash, withoutHash } from './cron-fields.ts'
import { hashOf } from './hash.ts'
import { cronInWords } from './words/cron-words.ts'

/**
 * An English sentence without a full stop; the expression itself if it cannot be put into words. With a seed, `H` is described
 * by the value that it has for the seed.
 */
export function describeCron(expression: string, seed: string | null = null): string {
  if (holdsHash(expression)) return describeHashed(expression, seed)
  const words = cronInWords(expression)
  if (words !== null) return words
  const checked = checkCron(expression)
  try {
    if (checked.ok) return sentence(checked.fields)
  } catch {
    // cronstrue throws strings and errors for expressions that it does not know; the expression is shown instead.
  }
  return `At the times of the cron expression ${expression.trim()}`
}

function describeHashed(expression: string, seed: string | null): string {
  const checked = checkCron(expression)
  if (!checked.ok || seed === null)
    return `At the times of the cron expression ${expression.trim()}, H chosen for each task`
  const { second, minute, hour, day, month, weekday } = withoutHash({
    fields: checked.fields,
    draw: (field) => hashOf(`${seed}\n${field}`),
  })
  const drawn = describeCron([second, minute, hour, day, month, weekday].join(' '))
  return `${drawn}, as H was chosen for this task`
}

type DayFields = Pick<CronFields, 'day' | 'month' | 'weekday'>
const EVERY_DAY: DayFields = { day: '*', month: '*', weekday: '*' }

function sentence(fields: CronFields): string {
  const time = say(fields, EVERY_DAY)
  const phrase = (days: Partial<DayFields>): string => {
    const text = say(fields, { ...EVERY_DAY, ...days })
    if (!text.startsWith(time)) throw new Error(`"${text}" does not continue "${time}"`)
    return text.slice(time.length).replace(/^, /, '')
  }
  const days = dayPhrase(fields, phrase)
  const months = phrase({ month: fields.month })
  return [time, days, months].filter((part) => part !== '').join(', ')
}

/** Describes the time of day together with the given day fields, which replace those of the expression. */
function say({ second, minute, hour }: CronFields, { day, month, weekday }: DayFields): string {
  const seconds = second === '0' ? [] : [second]
  const expression = [...seconds, minute, hour, day, month, weekday].join(' ')
  return cronstrue.toString(expression, { use24HourTimeFormat: true, throwExceptionOnParseError: true })
}

function dayPhrase({ day, ...fields }: CronFields, phrase: (days: Partial<DayFields>) => string): string {
  const weekday = withoutBothSundays(fields.weekday)
  const byDay = itemsToPhrase(day).map((item) => phrase({ day: item }))
  const byWeekday = itemsToPhrase(weekday).map((item) => phrase({ weekday: item }))
  const isStar = (field: string): boolean => field === '*' || field === '?'
  if (isStar(weekday)) return byDay.join(' and ')
  if (isStar(day)) return byWeekday.join(' and ')
  // One field that matches every day (such as a step of 1) makes the other one irrelevant.
  if (byDay.includes('') || byWeekday.includes('')) return ''
  return `${byDay.join(' and ')} or ${byWeekday.map(onWeekday).join(' and ')}`
}

const onWeekday = (phrase: string): string => {
  const bare = phrase.replace(/^only /, '')
  return bare.startsWith('on ') ? bare : `on ${bare}`
}

/** Lists with modifiers are phrased item by item, and `MON-FRI#2` as five second weekdays. */
function itemsToPhrase(field: string): readonly string[] {
  if (!/[#W]|\dL|[A-Z]{3}L/i.test(field)) return [field]
  return field.split(',').flatMap(expandRange)
}

/** `0-7` begins and ends with a Sunday and would be described as "Sunday through Sunday", so its days are listed one by one. */
function withoutBothSundays(weekday: string): string {
  return weekday.replace(/(?<=^|,)(?:0|SUN)-7(?:\/(\d+))?(?=$|,)/gi, (_, step = '1') => {
    const days = new Set(WEEKDAYS.flatMap((_, day) => (day % Number(step) === 0 ? [day % 7] : [])))
    return days.size === 7 ? '0-6' : [...days].join(',')
  })
}

const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN']

function expandRange(item: string): readonly string[] {
  const match = /^(\w+)-(\w+?)(#\d|L)$/i.exec(item)
  if (match === null) return [item]
  const [, from = '', to = '', modifier = ''] = match
  const number = (text: string): number =>
    /^\d/.test(text) ? Number(text) : WEEKDAYS.indexOf(text.toUpperCase())
  const last = to.toUpperCase() === 'SUN' ? 7 : number(to)
  const days = WEEKDAYS.flatMap((_, day) => (day >= number(from) && day <= last ? [day % 7] : []))
  return [...new Set(days)].map((day) => `${day}${modifier}`)
}
