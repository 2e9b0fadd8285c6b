import { expect, test } from 'vitest'
import { fieldsOf } from './kept.ts'

test('saved input is restored only if the form still has the same fields', () => {
  const start = { name: '', days: [] as string[] }
  const written = { name: 'half a name', days: ['mon'] }

  expect(fieldsOf(JSON.stringify(written), start)).toEqual(written)
  expect(fieldsOf(JSON.stringify({ name: 'half a name' }), start)).toBeNull()
  for (const text of [null, '{', '1', '[]']) expect(fieldsOf(text, start)).toBeNull()
})
