import type { ReactNode } from 'react'
import classes from './nothing.module.css'

interface NothingProps {
  readonly words: ReactNode
  /** What the user can do next. */
  readonly children?: ReactNode
}

/** Shown in place of an empty list. */
export function Nothing({ words, children }: NothingProps) {
  return (
    <div className={classes.nothing}>
      <p>{words}</p>
      {children}
    </div>
  )
}
