import { type ReactNode, useState } from 'react'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

interface FoldedProps {
  readonly summary: string
  /** Pointers of the fields inside: what is wrong with one of them opens it. */
  readonly fields: readonly string[]
  readonly errorAt: PartProps['errorAt']
  /** Something was decided in there before. */
  readonly isOpenFirst?: boolean
  readonly children: ReactNode
}

/** Fields that few tasks need, behind a line that names them. */
export function Folded({ summary, fields, errorAt, isOpenFirst = false, children }: FoldedProps) {
  const [isOpen, setOpen] = useState(isOpenFirst)
  return (
    <details
      open={isOpen || fields.some((field) => errorAt(field) !== undefined)}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary className={classes.summary}>{summary}</summary>
      <div className={`${classes.two} ${classes.folded}`}>{children}</div>
    </details>
  )
}
