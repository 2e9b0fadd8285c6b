import { parseDuration } from '../../src/core/values/duration.ts'
import { formatDuration } from '../../src/core/words/time.ts'

/** A duration without line breaks. */
export const inOnePiece = (ms: number): string => formatDuration(ms).replaceAll(' ', '\u00a0')

/** Formats `1d` as `1 d`; text that is not a duration stays as typed. */
export function durationWords(text: string): string {
  const parsed = parseDuration(text.trim())
  return parsed.ok ? inOnePiece(parsed.ms) : text
}
