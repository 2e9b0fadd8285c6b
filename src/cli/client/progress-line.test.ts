import { expect, test } from 'vitest'
import { ProgressLine } from './progress-line.ts'

function written(isTTY: boolean, columns = 80) {
  const texts: string[] = []
  return { texts, stream: { isTTY, columns, write: (text: string) => texts.push(text) } }
}

test('on a terminal one line is rewritten, cut to the width of the terminal, and erased at the end', () => {
  const { texts, stream } = written(true, 10)
  const line = new ProgressLine(stream)

  for (const text of ['1 of 2', '1 of 2', 'a line that is too long']) line.show(text)
  line.end()

  expect(texts).toEqual(['1 of 2', 'a line th', ''].map((text) => `\r\u001b[2K${text}`))
})

test('a terminal of unknown width gets the usual width', () => {
  const { texts, stream } = written(true, 0)

  new ProgressLine(stream).show('1 of 2')

  expect(texts).toEqual(['\r\u001b[2K1 of 2'])
})

test('without a terminal, changed lines are printed from time to time', () => {
  const { texts, stream } = written(false)
  const line = new ProgressLine(stream)

  for (const [text, at] of [
    ['0 of 9', 0],
    ['1 of 9', 500],
    ['2 of 9', 2_000],
    ['2 of 9', 60_000],
    ['3 of 9', 60_000],
  ] as const)
    line.show(text, at)
  line.end()

  expect(texts).toEqual(['0 of 9\n', '2 of 9\n', '3 of 9\n'])
})
