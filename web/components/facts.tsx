import type { ReactNode } from 'react'
import classes from './facts.module.css'

/** A list of facts about something. */
export function Facts({ children }: { readonly children: ReactNode }) {
  return <dl className={classes.facts}>{children}</dl>
}

interface FactProps {
  readonly label: string
  /** For values as long as a sentence. */
  readonly isWide?: boolean
  readonly children: ReactNode
}

export function Fact({ label, isWide = false, children }: FactProps) {
  return (
    <div className={isWide ? classes.wide : undefined}>
      <dt>{label}</dt>
      <dd>{children}</dd>
    </div>
  )
}
