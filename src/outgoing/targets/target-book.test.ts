import { expect, test } from 'vitest'
import { aBook } from './test-support.ts'

const TARGET = 'https://api.example.com'

test('a line has room for as many calls as its limit', () => {
  const { book } = aBook()
  const line = book.line('p', TARGET)

  for (let i = 0; i < 128; i++) line.begin()

  expect(line).toMatchObject({ id: `p ${TARGET}`, underWay: 128, free: 0, condition: 'full' })
  expect(book.line('q', TARGET).free).toBe(128)
  expect(book.line('p', TARGET, { noCircuit: true })).toMatchObject({ id: `p ${TARGET} always`, free: 128 })
})
