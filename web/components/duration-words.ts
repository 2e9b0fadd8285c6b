import { parseDuration } from '../../src/core/duration.ts'
import { formatDuration } from '../../src/core/words/time.ts'

/** `1d` as `1 d`; what is no duration stays as it was typed. */
export function durationWords(text: string): string {
  const parsed = parseDuration(text.trim())
  return parsed.ok ? formatDuration(parsed.ms) : text
}
