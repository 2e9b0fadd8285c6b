import { invalidInput } from '../../core/errors.ts'
import { type EventPosition, frontierAt, parsePosition } from '../../core/run/frontier.ts'
import { parseInstant } from '../../core/schedule/instant.ts'

/** Parses `after`: the id of an event, or an instant. */
export function positionAfter(after: string, pointer: string): EventPosition {
  const position = parsePosition(after)
  if (position !== null) return position
  const instant = parseInstant(after)
  if (instant.ok && instant.at >= 0) return { from: frontierAt(instant.at * 1_000), to: null, at: null }
  throw invalidInput([
    { pointer, detail: 'must be the id of an event, or an instant such as 2026-11-16T09:00:00Z' },
  ])
}
