import fc from 'fast-check'
import { expect, test } from 'vitest'
import { precisionOf } from '../../core/target/target-name.ts'
import { patternsOf, type TargetSetting, TargetSettings } from './target-setting.ts'

const TARGET = 'https://a.b.example.com:8443'
const setting = (pattern: string, more: Partial<TargetSetting> = {}): TargetSetting => ({
  projectId: 'p',
  pattern,
  limit: null,
  rate: null,
  burst: null,
  isPaused: false,
  ...more,
})

test.each([
  [['*.com', '*.example.com'], '*.example.com'],
  [['*.b.example.com', '*.example.com'], '*.b.example.com'],
  [['*.b.example.com', 'a.b.example.com'], 'a.b.example.com'],
  [['a.b.example.com', TARGET], TARGET],
  [['b.example.com', 'https://a.b.example.com', '*.com'], '*.com'],
])('with the patterns %j the limit of %s applies', (patterns, applied) => {
  const settings = patterns.map((pattern, i) => setting(pattern, { limit: i + 1 }))

  const { limit } = new TargetSettings(settings).appliedTo('p', TARGET)

  expect(limit).toBe(patterns.indexOf(applied) + 1)
})

test('each value comes from the most specific pattern that sets it, and any pattern can pause', () => {
  const settings = new TargetSettings([
    setting('*.example.com', { isPaused: true, rate: '5/s', burst: 3, limit: 9 }),
    setting('a.b.example.com', { rate: '10/s' }),
    setting(TARGET, { limit: 7 }),
    setting(TARGET, { projectId: 'q', limit: 1 }),
  ])

  expect(settings.appliedTo('p', TARGET)).toEqual({ limit: 7, gapMs: 100, burst: null, isPaused: true })
  expect(settings.appliedTo('r', TARGET)).toEqual({ limit: null, gapMs: null, burst: null, isPaused: false })
})

test('a pattern applies exactly when it matches the target, the most specific one first', () => {
  const label = fc.constantFrom('a', 'b', 'example', 'com', '127', '0')
  const host = fc.array(label, { minLength: 1, maxLength: 4 }).map((labels) => labels.join('.'))
  const target = fc.oneof(
    host.map((name) => `https://${name}x.com`),
    host.map((name) => `smtp://${name}x.com:25`),
    fc.constant('http://[::1]:80'),
  )
  const pattern = fc.oneof(
    host.map((name) => `*.${name}x.com`),
    host.map((name) => `${name}x.com`),
    target,
  )
  fc.assert(
    fc.property(target, fc.array(pattern), (one, patterns) => {
      const found = patternsOf(one)
      for (const each of patterns) expect(found.includes(each)).toBe(precisionOf(each, one) > 0)
      const precisions = found.map((each) => precisionOf(each, one))
      expect(precisions).toEqual([...precisions].sort((a, b) => b - a))
    }),
  )
})
