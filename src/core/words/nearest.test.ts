import { expect, test } from 'vitest'
import { likely } from './nearest.ts'

const FIELDS = ['queue', 'maxRunsPerDay', 'timeout', 'schedule', 'name', 'overlap', 'maxRuns']

test.each([
  ['maxRunsPrDay', 'maxRunsPerDay'],
  ['schedul', 'schedule'],
  ['timeoutMs', 'timeout'],
  ['runs', 'maxRuns'],
  ['ovrlp', 'overlap'],
])('%s is probably %s', (word, meant) => {
  expect(likely(word, FIELDS)).toBe(meant)
})

test('a word that is similar to none has no suggestion', () => {
  expect(likely('colour', FIELDS)).toBeUndefined()
})
