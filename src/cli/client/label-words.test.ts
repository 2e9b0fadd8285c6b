import { expect, test } from 'vitest'
import { theLabels } from './label-words.ts'

test('one label and several labels read as a sentence', () => {
  expect(theLabels(['gpu'])).toBe('the label gpu')
  expect(theLabels(['gpu', 'host=db2'])).toBe('the labels gpu and host=db2')
  expect(theLabels(['gpu', 'os=linux', 'region=eu'])).toBe('the labels gpu, os=linux and region=eu')
})
