import { expect, test } from 'vitest'
import { firstTrouble, MOST_MARKS, piecesOf } from './text-search.ts'

const hits = (text: string, words: string) =>
  piecesOf(text, words).flatMap(({ text, hit }) => (hit === null ? [] : [text]))

test('a search ignores case, keeps the case of its hits, and loses no text', () => {
  const text = 'Error: no\nerror again, ERRORS'

  expect(hits(text, 'error')).toEqual(['Error', 'error', 'ERROR'])
  expect(
    piecesOf(text, 'error')
      .map((piece) => piece.text)
      .join(''),
  ).toBe(text)
  expect(hits(text, '')).toEqual([])
  expect(hits('İstanbul error', 'error')).toEqual(['error'])
  expect(hits('a'.repeat(2_000), 'a')).toHaveLength(MOST_MARKS)
})

test('words that indicate a failure are found only as whole words', () => {
  expect(firstTrouble('all went well\nconnection refused')).toBe('refused')
  expect(firstTrouble('terrors of the deep')).toBeNull()
})
