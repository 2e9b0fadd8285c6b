/** What rotating an API key does to the old key. */
import { parseDuration } from '../../../src/core/values/duration.ts'
import type { KeyRotation } from '../../api/keys.ts'
import { durationWords } from '../../components/duration-words.ts'
import { shellLine } from '../../components/shell.ts'
import { given } from '../../components/typed.ts'

export interface RotationFields {
  readonly overlap: string
  readonly expiresAt: string
}

/** How long the old key stays valid by default. */
export const OVERLAP = '1d'

export const rotationOf = ({ overlap, expiresAt }: RotationFields): KeyRotation => ({
  ...given('overlap', overlap),
  ...given('expiresAt', expiresAt),
})

export const rotationCommand = (id: string, { overlap, expiresAt }: KeyRotation): string =>
  shellLine([
    ['belfry', 'key', 'rotate', id],
    overlap === undefined ? [] : ['--overlap', overlap],
    expiresAt == null ? [] : ['--expires-at', expiresAt],
  ])

/** What happens to the old key; null if the overlap is not a duration. */
export function oldKeyWords(overlap: string, old: { readonly expiresAt: string | null }): string | null {
  const length = overlap.trim() || OVERLAP
  const parsed = parseDuration(length)
  if (!parsed.ok) return null
  if (parsed.ms === 0) return 'The old key is refused within two seconds.'
  return `The old key stays valid for ${durationWords(length)}${old.expiresAt === null ? '' : ', but not longer than before'}.`
}
