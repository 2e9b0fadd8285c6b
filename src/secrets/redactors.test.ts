import { expect, test } from 'vitest'
import { Redactors } from './redactors.ts'

const KEPT_MS = 60_000

test('the redactor of the same values is made once', () => {
  const redactors = new Redactors(KEPT_MS)

  const first = redactors.of(new Map([['TOKEN', 'canary-one']]))
  const second = redactors.of([['TOKEN', 'canary-one']])

  expect(second).toBe(first)
})

test('a changed value or name has another redactor', () => {
  const redactors = new Redactors(KEPT_MS)

  const texts = [
    redactors.of([['TOKEN', 'canary-one']]),
    redactors.of([['TOKEN', 'canary-two']]),
    redactors.of([['OTHER', 'canary-one']]),
  ].map((redactor) => redactor.text('canary-one canary-two'))

  expect(texts).toEqual([
    '[secret TOKEN] canary-two',
    'canary-one [secret TOKEN]',
    '[secret OTHER] canary-two',
  ])
})

test('no redactor is kept when values are forgotten', () => {
  const redactors = new Redactors(KEPT_MS)
  const first = redactors.of([['TOKEN', 'canary-one']])

  redactors.forget()

  expect(redactors.of([['TOKEN', 'canary-one']])).not.toBe(first)
})
