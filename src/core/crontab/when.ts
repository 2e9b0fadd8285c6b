/**
 * Converts the schedule of a crontab line into a cron expression of Belfry. The two syntaxes differ in a few places, which are
 * handled here.
 */
import { checkCron } from '../schedule/cron-fields.ts'
import { validateSchedule } from '../schedule/validate-schedule.ts'

export type When =
  | { readonly kind: 'cron'; readonly expression: string }
  /** Cron accepts it, but no schedule of Belfry is equivalent. */
  | { readonly kind: 'unsupported'; readonly reason: string }
  | { readonly kind: 'wrong'; readonly details: readonly string[] }

/** Aliases that only some versions of cron know. */
const MORE_ALIASES: ReadonlyMap<string, string> = new Map([
  ['@every_minute', '* * * * *'],
  ['@every_second', '* * * * * *'],
])

export function whenOf(written: string): When {
  if (written === '@reboot')
    return {
      kind: 'unsupported',
      reason: 'Belfry has no @reboot; start this with the service manager of the machine',
    }
  if (written.startsWith('@')) return checked(MORE_ALIASES.get(written) ?? written)
  const fields = written.split(' ').map(withoutTilde)
  const [minute, hour, day = '', month, weekday = ''] = fields
  if (isBoth(day, weekday) || isBoth(weekday, day))
    return {
      kind: 'unsupported',
      reason: `cron runs this on days that match both ${day} and ${weekday}, because one of them begins with *; a schedule of Belfry matches either. Check one of the two days in the command itself`,
    }
  return checked([minute, hour, plain(day), month, plain(weekday)].join(' '))
}

function checked(expression: string): When {
  const fields = checkCron(expression)
  if (!fields.ok) return { kind: 'wrong', details: fields.details }
  const check = validateSchedule({ type: 'cron', expression, timezone: 'UTC' })
  if (check.ok) return { kind: 'cron', expression }
  return { kind: 'wrong', details: check.problems.map(({ detail }) => detail) }
}

/** `a~b` is a random value that is chosen once, which `H(a-b)` means here. */
const withoutTilde = (field: string): string =>
  field
    .split(',')
    .map((item) => {
      if (item === '~') return 'H'
      const [, from, to] = /^(\d+)~(\d+)$/.exec(item) ?? []
      return from === undefined ? item : `H(${from}-${to})`
    })
    .join(',')

const isEvery = (field: string) => field === '*' || /^\*(\/1)?(,|$)/.test(field)

/**
 * If one day field begins with a star, cron requires both fields to match. Belfry gives the same result only if one of them
 * matches every day.
 */
const isBoth = (starred: string, other: string) =>
  starred.startsWith('*') && !isEvery(starred) && !isEvery(other)

/**
 * In Belfry, a star with further items would make the other field irrelevant, so a field that matches every day is written as a
 * plain star.
 */
const plain = (field: string) => (isEvery(field) ? '*' : field)
