import fc from 'fast-check'
import { expect, test } from 'vitest'
import { localTime } from './local-time.ts'

test('an instant is shown on the wall clock of its zone, with the offset of that day', () => {
  expect(localTime(Date.UTC(2026, 6, 1, 7, 0), 'Europe/Berlin')).toBe('2026-07-01T09:00:00.000+02:00')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'Europe/Berlin')).toBe('2026-12-01T09:00:00.000+01:00')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'America/St_Johns')).toBe('2026-12-01T04:30:00.000-03:30')
  expect(localTime(Date.UTC(2026, 11, 1, 8, 0), 'UTC')).toBe('2026-12-01T08:00:00.000+00:00')
})

test('an instant is shown as Intl shows it, in every zone and year', () => {
  const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC')
  const instant = fc.integer({ min: Date.UTC(1900, 1, 1), max: Date.UTC(2100, 1, 1) })

  fc.assert(
    fc.property(instant, zone, (ms, timeZone) => {
      expect(localTime(ms, timeZone)).toBe(accordingToIntl(ms, timeZone))
    }),
  )
})

function accordingToIntl(ms: number, timeZone: string): string {
  const format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(ms).find(({ type }) => type === 'timeZoneName')?.value ?? ''
  const offset = name === 'GMT' ? '+00:00' : name.slice(3)
  const [hours = '00', minutes = '00', seconds = '00'] = offset.slice(1).split(':')
  const shift = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1_000
  return new Date(ms + (offset.startsWith('-') ? -shift : shift)).toISOString().slice(0, -1) + offset
}
