import { expect, test } from 'vitest'
import { fieldsOf } from './kept.ts'

test('what was written is there again, unless the form had other fields then', () => {
  const start = { name: '', days: [] as string[] }
  const written = { name: 'half a name', days: ['mon'] }

  expect(fieldsOf(JSON.stringify(written), start)).toEqual(written)
  expect(fieldsOf(JSON.stringify({ name: 'half a name' }), start)).toBeNull()
  for (const text of [null, '{', '1', '[]']) expect(fieldsOf(text, start)).toBeNull()
})
