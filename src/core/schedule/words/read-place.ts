import { FOLD_POLICIES, GAP_POLICIES } from '../daylight-saving.ts'
import type { DatesSchedule } from '../schedule.ts'
import { zoneProblem } from '../zone.ts'
import { spellZone } from '../zone-names.ts'
import { MAX_CITY_WORDS, zoneOfCity } from './cities.ts'
import type { Reader } from './reader.ts'

/** The time zone, and the choices about its clock changes. */
export type Place = Pick<DatesSchedule, 'timezone' | 'gap' | 'fold'>

/** Reads the zone: in brackets with choices about clock changes, after "in", or by itself. Everything is optional. */
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

/** An IANA name in its proper spelling, or the city that a zone is named after. */
function readZone(reader: Reader): string | null {
  return (
    reader.attempt(() => readZoneName(reader)) ??
    reader.attempt(() => readCity(reader)) ??
    reader.miss('a time zone that is known, such as Europe/Vienna')
  )
}

function readZoneName(reader: Reader): string | null {
  const match = reader.take(/[A-Za-z][A-Za-z0-9_+/-]*/y, 'a time zone such as Europe/Vienna')
  return match === null || zoneProblem(match[0]) !== null ? null : spellZone(match[0])
}

/** Reads the longest sequence of words that names a city: "New York", not a city called "New". */
function readCity(reader: Reader): string | null {
  for (let words = MAX_CITY_WORDS; words > 0; words -= 1) {
    const zone = reader.quietly(() =>
      reader.attempt(() => {
        const match = reader.take(CITY[words] as RegExp, '')
        return match === null ? null : (zoneOfCity(match[0]) ?? null)
      }),
    )
    if (zone === null) continue
    reader.quietly(() => reader.words('time'))
    return zone
  }
  return null
}

const CITY = Array.from(
  { length: MAX_CITY_WORDS + 1 },
  (_, words) => new RegExp(`[a-z.'-]+(?:\\s+[a-z.'-]+){${Math.max(0, words - 1)}}(?![\\w/])`, 'iy'),
)
