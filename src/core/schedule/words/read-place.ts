import { type DatesSchedule, FOLD_POLICIES, GAP_POLICIES } from '../schedule.ts'
import { zoneProblem } from '../zone.ts'
import type { Reader } from './reader.ts'

/** Where the wall clock hangs, and what to do about its changes. */
export type Place = Pick<DatesSchedule, 'timezone' | 'gap' | 'fold'>

/** The zone, in brackets with what to do about clock changes, or after "in", or by itself; all may be left out. */
export function readPlace(
  reader: Reader,
  { timezone = 'UTC' }: { readonly timezone?: string },
): Place | null {
  const bracketed = reader.take(/\(/y, 'a time zone such as (Europe/Vienna)') !== null
  if (!bracketed) {
    const zone = reader.attempt(() => {
      reader.words('in')
      return readZone(reader)
    })
    return { timezone: zone ?? timezone }
  }
  const zone = readZone(reader)
  if (zone === null) return null
  const choices: { -readonly [K in 'gap' | 'fold']?: Place[K] } = {}
  while (reader.take(/,/y, '")" or ", gap" or ", fold"') !== null) {
    if (reader.words('gap')) {
      const gap = reader.oneOf(GAP_POLICIES, GAP_POLICIES.join(' or '))
      if (gap === null) return null
      choices.gap = gap as NonNullable<Place['gap']>
    } else {
      const fold = reader.words('fold') ? reader.oneOf(FOLD_POLICIES, FOLD_POLICIES.join(' or ')) : null
      if (fold === null) return null
      choices.fold = fold as NonNullable<Place['fold']>
    }
  }
  return reader.take(/\)/y, '")"') === null ? null : { timezone: zone, ...choices }
}

function readZone(reader: Reader): string | null {
  return (
    reader.attempt(() => {
      const match = reader.take(/[A-Za-z][A-Za-z0-9_+/-]*/y, 'a time zone such as Europe/Vienna')
      return match === null || zoneProblem(match[0]) !== null ? null : match[0]
    }) ?? reader.miss('a time zone that is known, such as Europe/Vienna')
  )
}
