import { expect, test } from 'vitest'
import { logLines, logText } from './log-text.ts'

test('each log line of a handler is shown with its time, and other output is not taken for a log', () => {
  const log = [
    { at: '2026-11-16T09:00:00.120Z', level: 'info', message: 'begun' },
    { at: '2026-11-16T09:00:01.000Z', level: 'error', message: 'no\nmore' },
  ]

  expect(logText(logLines({ result: 1, log }) ?? [], 'Europe/Berlin')).toBe(
    '10:00:00.120  info   begun\n10:00:01.000  error  no\n                     more',
  )
  expect(logLines({ log: 'text' })).toBeNull()
  expect(logLines({ log: [{ at: 1 }] })).toBeNull()
  expect(logLines(null)).toBeNull()
})
