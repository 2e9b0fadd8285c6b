import { expect, test } from 'vitest'
import { likely } from './nearest.ts'

const FIELDS = ['queue', 'queueTimeout', 'timeout', 'schedule', 'name', 'overlap', 'maxRuns']

test.each([
  ['queueTimout', 'queueTimeout'],
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
