import type { ReactNode } from 'react'
import classes from './nothing.module.css'

interface NothingProps {
  readonly words: ReactNode
  /** The way on from here. */
  readonly children?: ReactNode
}

/** Stands where a list would, were there anything in it. */
export function Nothing({ words, children }: NothingProps) {
  return (
    <div className={classes.nothing}>
      <p>{words}</p>
      {children}
    </div>
  )
}
