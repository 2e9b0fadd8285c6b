import { expect, test } from 'vitest'
import { spellZone, zoneNote } from './zone-names.ts'

test.each([
  'Europe/Vienna',
  'America/New_York',
  'America/Port-au-Prince',
  'Africa/Dar_es_Salaam',
  'America/Argentina/ComodRivadavia',
  'Asia/Kolkata',
  'US/Pacific',
  'Etc/GMT+2',
  'UTC',
  'EST5EDT',
  'NZ-CHAT',
  'GB-Eire',
])('the zone %s is found in any case and spelt correctly', (name) => {
  expect([name.toLowerCase(), name.toUpperCase(), name].map(spellZone)).toEqual([name, name, name])
})

test('an abbreviation is noted with the zone that it is taken for', () => {
  expect(zoneNote('CET')).toBe(
    'CET is an abbreviation and is interpreted as Europe/Brussels, including its daylight saving changes if it has any; use the full name, such as Europe/Brussels',
  )
  expect(['UTC', 'GMT', 'Europe/Vienna', 'Cuba'].map(zoneNote)).toEqual([null, null, null, null])
})
