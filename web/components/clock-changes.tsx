import type { Preview } from '../api/wire.ts'

interface ClockChangesProps {
  readonly notes: Preview['notes']
  readonly className: string | undefined
}

/** The wall-clock times of a schedule that a clock change skips or repeats. */
export function ClockChanges({ notes, className }: ClockChangesProps) {
  if (notes.length === 0) return null
  return (
    <ul className={className} aria-label="Clock changes">
      {notes.map(({ wall, note }) => (
        <li key={`${wall} ${note}`}>
          <span aria-hidden="true">⚠ </span>
          {note}
        </li>
      ))}
    </ul>
  )
}
