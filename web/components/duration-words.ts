import { parseDuration } from '../../src/core/values/duration.ts'
import { formatDuration } from '../../src/core/words/time.ts'

/** A duration that no line ends within. */
export const inOnePiece = (ms: number): string => formatDuration(ms).replaceAll(' ', '\u00a0')

/** `1d` as `1 d`; what is no duration stays as it was typed. */
export function durationWords(text: string): string {
  const parsed = parseDuration(text.trim())
  return parsed.ok ? inOnePiece(parsed.ms) : text
}
