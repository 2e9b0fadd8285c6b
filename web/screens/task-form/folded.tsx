import { type ReactNode, useState } from 'react'
import type { PartProps } from './part.tsx'
import classes from './task-form.module.css'

interface FoldedProps {
  readonly summary: string
  /** JSON pointers of the fields inside; a problem with one of them opens the section. */
  readonly fields: readonly string[]
  readonly errorAt: PartProps['errorAt']
  /** Opens the section initially, because one of its fields is set. */
  readonly isOpenFirst?: boolean
  readonly children: ReactNode
}

/** A collapsible section for fields that few tasks need. */
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
