import { expect, test } from 'vitest'
import { instantFromNow } from './instant-flag.ts'

const server = { now: () => Date.parse('2026-11-19T02:00:00.000Z') }
const read = (text: string) => instantFromNow({ flag: '--until', text, timezone: 'Europe/Berlin' }, server)

test.each([
  ['2h', '2026-11-19T04:00:00.000Z'],
  ['in 2 hours', '2026-11-19T04:00:00.000Z'],
  ['tomorrow 9:00', '2026-11-20T08:00:00.000Z'],
  ['next monday at 9:00', '2026-11-23T08:00:00.000Z'],
  ['2026-11-20 18:00', '2026-11-20T17:00:00.000Z'],
  ['tomorrow at 9:00 in New York', '2026-11-19T14:00:00.000Z'],
  ['today at 1:00', '2026-11-19T00:00:00.000Z'],
  ['2026-11-20T18:00:00+01:00', '2026-11-20T18:00:00+01:00'],
  ['2026-02-30T18:00:00+01:00', '2026-02-30T18:00:00+01:00'],
])('--until %s', (text, at) => {
  expect(read(text)).toBe(at)
})

test.each(['soon', 'tomorrow', 'fridays at 18:00', 'every 5 minutes', '20 December and 21 December at 9:00'])(
  'a text that does not name a single instant is refused with examples: %s',
  (text) => {
    expect(() => read(text)).toThrow(
      `--until is '${text}'; it must be a time such as 'tomorrow at 9:00', 'next friday at 18:00'`,
    )
  },
)
