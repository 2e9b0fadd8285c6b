import { expect, test } from 'vitest'
import { type AwaitedTarget, targetCauses } from './target-causes.ts'

const NOW = Date.UTC(2026, 5, 1)
const RUN = { runId: 'r1', state: 'pending', scheduledFor: NOW, wakeAt: NOW }

const aTarget = (changes: Partial<AwaitedTarget> = {}): AwaitedTarget => ({
  target: 'https://api.example.com',
  state: 'available',
  isAwaited: false,
  underWay: 0,
  limit: 128,
  perNode: 128,
  rate: null,
  pausedBy: null,
  limitedBy: null,
  ratedBy: null,
  pausedAt: null,
  pauseReason: null,
  openedAt: null,
  until: null,
  error: null,
  ...changes,
})

test('a target with a free slot is no cause', () => {
  expect(targetCauses(null, RUN)).toEqual([])
  expect(targetCauses(aTarget(), RUN)).toEqual([])
})

test('a run that waits in a line waits for its target, also when there is room again', () => {
  expect(targetCauses(aTarget({ isAwaited: true }), RUN)).toMatchObject([
    {
      code: 'target_full',
      sentence:
        'Run r1 is due and waiting for its turn at target https://api.example.com, which has a free slot again.',
    },
  ])
})

test('for a run that is not due, only a paused target or an open circuit is a cause', () => {
  const codes = (state: AwaitedTarget['state']) =>
    targetCauses(aTarget({ state, rate: '1/s' }), null).map(({ code }) => code)

  expect(codes('paused')).toEqual(['target_paused'])
  expect(codes('circuit_open')).toEqual(['target_circuit_open'])
  expect(codes('full')).toEqual([])
  expect(codes('rate_limited')).toEqual([])
})

test('advice is a command that can be typed as it stands', () => {
  const paused = aTarget({ state: 'paused', pausedBy: '*.example.com', pausedAt: NOW, pauseReason: 'deploy' })
  const open = aTarget({ state: 'circuit_open', openedAt: NOW, until: NOW + 5_000, error: 'refused' })
  const full = aTarget({ state: 'full', underWay: 4, limit: 4, perNode: 10, limitedBy: 'api.example.com' })
  const rated = aTarget({ state: 'rate_limited', rate: '10/m', ratedBy: 'https://api.example.com' })
  const told = [paused, open, full, rated].flatMap((it) => targetCauses(it, RUN))

  expect(told.map(({ advice }) => advice)).toEqual([
    "To resume the target: belfry target resume '*.example.com'",
    'Wait until the target responds again. To see its errors: belfry target show https://api.example.com',
    'Wait for calls to end, or raise the limit: belfry target limit api.example.com 20',
    'Wait, or raise the rate: belfry target limit https://api.example.com --rate 20/m',
  ])
  expect(told.map(({ sentence }) => sentence)).toEqual([
    'Run r1 is due and waiting: target https://api.example.com has been paused by *.example.com since 2026-06-01T00:00:00.000Z (deploy).',
    'Run r1 is due and waiting: the circuit of target https://api.example.com has been open since 2026-06-01T00:00:00.000Z (refused). The next probe is at 2026-06-01T00:00:05.000Z.',
    'Run r1 is due and waiting: target https://api.example.com has 4 calls in progress, and its limit is 4.',
    'Run r1 is due and waiting: target https://api.example.com is at its rate limit of 10/m.',
  ])
})
