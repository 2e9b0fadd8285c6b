import { expect, test } from 'vitest'
import type { LogLine } from '../../api/wire.ts'
import { runLogText } from './run-log-text.ts'

const line = (text: string, more: Partial<LogLine> = {}): LogLine => ({
  id: '1.0.0',
  attempt: 1,
  at: '2026-11-16T08:00:00.120Z',
  stream: 'stdout',
  level: null,
  text,
  isPartial: false,
  omitted: null,
  ...more,
})

test('each line has its time and where it comes from', () => {
  const lines = [
    line('copying'),
    line('no space', { stream: 'stderr' }),
    line('page 4', { stream: 'log', level: 'warn' }),
  ]

  expect(runLogText(lines, 'UTC')).toBe(
    ['08:00:00.120  stdout  copying', '08:00:00.120  stderr  no space', '08:00:00.120  warn    page 4'].join(
      '\n',
    ),
  )
})

test('parts of one line are joined', () => {
  const lines = [line('50', { isPartial: true }), line(' of 100')]

  expect(runLogText(lines, 'UTC')).toBe('08:00:00.120  stdout  50 of 100')
})

test('lines are grouped by attempt if a run has several attempts', () => {
  const lines = [line('once'), line('again', { attempt: 2 })]

  expect(runLogText(lines, 'UTC').split('\n')).toEqual([
    'Attempt 1',
    '08:00:00.120  stdout  once',
    'Attempt 2',
    '08:00:00.120  stdout  again',
  ])
})
