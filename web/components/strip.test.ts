import { expect, test } from 'vitest'
import { stripOf } from './strip.ts'

type Recent = Parameters<typeof stripOf>[0][number]

const ended = (state: Recent['state'], durationMs: number | null): Recent => ({
  id: `${state}-${durationMs}`,
  state,
  reason: null,
  scheduledFor: '2026-11-16T09:00:00.000Z',
  startedAt: null,
  endedAt: '2026-11-16T09:00:01.000Z',
  latenessMs: null,
  durationMs,
})

test('bars are ordered oldest first, with the median duration at half height', () => {
  const bars = stripOf([
    ended('completed', 400),
    ended('completed', 100),
    ended('completed', 100),
    ended('completed', 1),
  ])

  expect(bars.map(({ height }) => height)).toEqual([0.15, 0.5, 0.5, 1])
})

test('a failed run has a bar of full height and does not count towards the median', () => {
  const bars = stripOf([ended('permanently_failed', 1), ended('skipped', null), ended('completed', 100)])

  expect(bars.map(({ height }) => height)).toEqual([0.5, 0.5, 1])
})
