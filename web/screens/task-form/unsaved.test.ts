import { expect, test } from 'vitest'
import { emptyDraft } from './draft.ts'
import { writingOf } from './unsaved.ts'

test('what was written is there again, unless the form had other fields then', () => {
  const writing = { base: null, draft: { ...emptyDraft(), name: 'half a name' } }
  const { timeout: _, ...older } = emptyDraft()

  expect(writingOf(JSON.stringify(writing))).toEqual(writing)
  expect(writingOf(JSON.stringify({ base: null, draft: older }))).toBeNull()
  for (const text of [null, '{', '1', '{}']) expect(writingOf(text)).toBeNull()
})
