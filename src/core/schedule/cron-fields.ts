/**
 * The grammar of cron expressions, checked field by field so that a refusal can name the field, its value and the allowed
 * values. It is stricter than croner, which accepts some malformed expressions: croner parses everything accepted here, with
 * the same meaning. Lengths are checked first, so hostile text costs nothing.
 */

/** A list of all sixty minutes takes 169 characters; three such lists still fit. */
export const MAX_EXPRESSION_LENGTH = 512

/** The six fields of an expression, as text. */
export interface CronFields {
  readonly second: string
  readonly minute: string
  readonly hour: string
  readonly day: string
  readonly month: string
  readonly weekday: string
}

export type CheckedCron =
  | { readonly ok: true; readonly fields: CronFields }
  | { readonly ok: false; readonly details: readonly string[] }

const ALIASES: ReadonlyMap<string, string> = new Map([
  ['@yearly', '0 0 1 1 *'],
  ['@annually', '0 0 1 1 *'],
  ['@monthly', '0 0 1 * *'],
  ['@weekly', '0 0 * * 0'],
  ['@daily', '0 0 * * *'],
  ['@midnight', '0 0 * * *'],
  ['@hourly', '0 * * * *'],
])

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

interface FieldSpec {
  readonly name: string
  readonly min: number
  readonly max: number
  /** The largest step croner accepts: the number of distinct values. */
  readonly maxStep: number
  readonly names: readonly string[]
  /** The maximum value that `H` stands for: every month has a day 28, and Sunday must have only one number. */
  readonly maxHash: number
  readonly allowed: string
}

const plain = (name: string, max: number): FieldSpec => ({
  name,
  min: 0,
  max,
  maxStep: max + 1,
  names: [],
  maxHash: max,
  allowed: `0–${max} or H`,
})

const SPECS: readonly FieldSpec[] = [
  plain('second', 59),
  plain('minute', 59),
  plain('hour', 23),
  {
    name: 'day of month',
    min: 1,
    max: 31,
    maxStep: 31,
    names: [],
    maxHash: 28,
    allowed: '1–31, L, LW, a day with W, or H',
  },
  {
    name: 'month',
    min: 1,
    max: 12,
    maxStep: 12,
    names: MONTHS,
    maxHash: 12,
    allowed: '1–12, JAN–DEC or H',
  },
  {
    name: 'day of week',
    min: 0,
    max: 7,
    maxStep: 7,
    names: WEEKDAYS,
    maxHash: 6,
    allowed: '0–7 or SUN–SAT, also 5L and MON#2, or H',
  },
]

/** Splits an expression into its fields, or reports for each invalid field what is wrong. */
export function checkCron(expression: string): CheckedCron {
  if (expression.length > MAX_EXPRESSION_LENGTH) {
    return refuse(`is ${expression.length} characters long; the maximum is ${MAX_EXPRESSION_LENGTH}`)
  }
  const trimmed = expression.trim()
  if (trimmed.startsWith('@') && !ALIASES.has(trimmed.toLowerCase())) {
    return refuse(`${quoted(trimmed)} is not an alias; use one of ${[...ALIASES.keys()].join(' ')}`)
  }
  const parts = (ALIASES.get(trimmed.toLowerCase()) ?? trimmed).split(/\s+/)
  if (parts.length === 7) return refuse('has 7 fields; a year field is not supported, use 5 or 6 fields')
  if (parts.length !== 5 && parts.length !== 6) {
    const count = trimmed === '' ? 0 : parts.length
    return refuse(`has ${count} field${count === 1 ? '' : 's'}; use 5, or 6 with seconds first`)
  }
  const shift = 6 - parts.length
  const details = parts.flatMap((text, index) => {
    const spec = SPECS[index + shift]
    const problem = spec === undefined ? null : fieldProblem(text, spec)
    return problem === null ? [] : [`field ${index + 1} (${spec?.name}) ${problem}`]
  })
  if (details.length > 0) return { ok: false, details }
  const [second = '', minute = '', hour = '', day = '', month = '', weekday = ''] =
    shift === 1 ? ['0', ...parts] : parts
  return { ok: true, fields: { second, minute, hour, day, month, weekday: soleSunday(weekday) } }
}

/** `SUN-SUN` is one day. croner would parse it as a range to day 7, which is the whole week. */
const soleSunday = (weekday: string): string =>
  weekday.replace(/(?<![\w-])(?:SUN|0)-SUN(?:\/\d+)?(?!\w)/gi, 'SUN')

const refuse = (detail: string): CheckedCron => ({ ok: false, details: [detail] })

/** User text for a message, shortened so that the length of a message does not depend on the input. */
const quoted = (text: string): string => `"${text.length > 20 ? `${text.slice(0, 20)}…` : text}"`

function fieldProblem(text: string, spec: FieldSpec): string | null {
  if (text === '*' || text === '?') return null
  const items = text.split(',')
  for (const item of items) {
    const problem = itemProblem(item, spec)
    if (problem !== null) return items.length === 1 ? `is ${problem}` : `contains ${problem}`
  }
  return null
}

const ITEM = /^(?:(\*)|(\d{1,2}|[A-Z]{3})(?:-(\d{1,2}|[A-Z]{3}))?)(?:\/(\d{1,3}))?$/

/** What is wrong with one element of a list, worded to follow "is" or "contains". */
function itemProblem(item: string, spec: FieldSpec): string | null {
  if (item === '') return 'an empty item; remove the extra comma'
  const upper = item.toUpperCase()
  if (/^H(?:$|[^A-Z])/.test(upper)) return hashProblem(item, spec)
  const body = withoutModifier(upper, spec)
  if (body === '') return null
  const match = ITEM.exec(body)
  if (match === null) return `${quoted(item)}; allowed ${spec.allowed}, with ranges a-b, steps */n and lists`
  const [, star, from, to, step] = match
  if (step !== undefined && (Number(step) < 1 || Number(step) > spec.maxStep)) {
    return `${quoted(item)}; allowed steps are 1–${spec.maxStep}`
  }
  if (star !== undefined || from === undefined) return modifierProblem(item, body, upper)
  const low = fieldValue(from, spec)
  const high = to === undefined ? low : rangeEnd(to, spec)
  if (low === null) return `${from}; allowed ${spec.allowed}`
  if (high === null) return `${to}; allowed ${spec.allowed}`
  if (low > high)
    return `the backward range ${item}; write it as two, such as ${from}-${spec.max},${spec.min}-${to}`
  if (step !== undefined && to === undefined) {
    return `${quoted(item)}; a step needs a range, write ${from}-${spec.max}/${step}`
  }
  return step === undefined ? null : modifierProblem(item, body, upper)
}

const HASH_ITEM = /^H(?:\((\d{1,2}|[A-Z]{3})-(\d{1,2}|[A-Z]{3})\))?(?:\/(\d{1,3}))?$/

/** The range of values and the step of an item with `H`; null if the item has no valid `H`. */
function hashRange(item: string, spec: FieldSpec): HashRange | null {
  const match = HASH_ITEM.exec(item.toUpperCase())
  if (match === null) return null
  const [, from, to, step] = match
  const low = from === undefined ? spec.min : fieldValue(from, spec)
  const high = to === undefined ? spec.maxHash : fieldValue(to, spec)
  if (low === null || high === null) return null
  return { low, high, step: step === undefined ? null : Number(step) }
}

interface HashRange {
  readonly low: number
  readonly high: number
  readonly step: number | null
}

function hashProblem(item: string, spec: FieldSpec): string | null {
  const { min, maxHash } = spec
  const range = hashRange(item, spec)
  if (range === null || range.low > range.high || range.high > maxHash) {
    return `${quoted(item)}; allowed are H, H(a-b) with ${min} ≤ a ≤ b ≤ ${maxHash}, and steps of both such as H/2`
  }
  const values = range.high - range.low + 1
  if (range.step === null || (range.step >= 1 && range.step <= values)) return null
  return `${quoted(item)}; allowed steps are 1–${values}`
}

/** Whether an expression contains an `H`, and so has different times for each task. `THU` does not. */
export const holdsHash = (expression: string): boolean => /(?:^|[\s,])h(?=$|[\s,/(])/i.test(expression)

/**
 * Replaces each `H` of an expression by a number. Each field draws its own value, so that `H H * * *` may be any minute of the
 * day. Steps remain steps, so the pattern remains interval-like. The expression must have passed `checkCron`.
 */
export function withoutHash({ fields, draw }: HashedFields): CronFields {
  const resolve = (text: string, spec: FieldSpec | undefined): string => {
    if (spec === undefined) return text
    const items = text.split(',').map((item) => {
      const range = hashRange(item, spec)
      if (range === null) return item
      const { low, high, step } = range
      const start = low + (draw(spec.name) % (step ?? high - low + 1))
      return step === null ? String(start) : `${start}-${high}/${step}`
    })
    return items.join(',')
  }
  const { second, minute, hour, day, month, weekday } = fields
  return {
    second: resolve(second, SPECS[0]),
    minute: resolve(minute, SPECS[1]),
    hour: resolve(hour, SPECS[2]),
    day: resolve(day, SPECS[3]),
    month: resolve(month, SPECS[4]),
    weekday: resolve(weekday, SPECS[5]),
  }
}

/** Fields that may contain `H`, and the source of its values. */
export interface HashedFields {
  readonly fields: CronFields
  /** A whole number, zero or more, for the name of a field. */
  readonly draw: (field: string) => number
}

/**
 * Removes modifiers that only the two day fields have: `L` and `15W` for days of the month, `#2` and `L` after a weekday. The
 * rest follows the common grammar; for a lone `L` it is empty.
 */
function withoutModifier(upper: string, spec: FieldSpec): string {
  if (spec.name === 'day of month')
    return upper === 'L' || upper === 'LW' ? '' : upper.replace(/^(\d{1,2})W$/, '$1')
  if (spec.name === 'day of week') return upper.replace(/(.)(?:#[1-5]|L)$/, '$1')
  return upper
}

/** Stars and steps accept no `#` or `L`: "every second day of the week, but only its last" has no meaning. */
const modifierProblem = (item: string, body: string, upper: string): string | null =>
  body === upper ? null : `${quoted(item)}; # and L follow a weekday or a range, not a star or step`

function fieldValue(text: string, spec: FieldSpec): number | null {
  const value = /^\d/.test(text) ? Number(text) : nameValue(text, spec)
  return value === null || value < spec.min || value > spec.max ? null : value
}

function nameValue(text: string, spec: FieldSpec): number | null {
  const index = spec.names.indexOf(text)
  return index < 0 ? null : index + spec.min
}

/** A range may end on Sunday: in `SAT-SUN`, Sunday is day 7. */
const rangeEnd = (text: string, spec: FieldSpec): number | null =>
  text === 'SUN' && spec.names === WEEKDAYS ? 7 : fieldValue(text, spec)
