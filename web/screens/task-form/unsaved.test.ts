import { expect, test } from 'vitest'
import { emptyDraft } from './draft.ts'
import { writingOf } from './unsaved.ts'

test('a saved draft is restored only if the form still has the same fields', () => {
  const writing = { base: null, draft: { ...emptyDraft(), name: 'half a name' } }
  const { timeout: _, ...older } = emptyDraft()

  expect(writingOf(JSON.stringify(writing))).toEqual(writing)
  expect(writingOf(JSON.stringify({ base: null, draft: older }))).toBeNull()
  for (const text of [null, '{', '1', '{}']) expect(writingOf(text)).toBeNull()
})
