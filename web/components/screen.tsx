import type { ReactNode } from 'react'
import classes from './screen.module.css'
import { useTitle } from './title.ts'

interface ScreenProps {
  readonly title: string
  /** Shown instead of the title, which remains that of the document. */
  readonly heading?: ReactNode
  /** Shown below the title: the current state. */
  readonly state?: ReactNode
  /** Shown beside the title: a note or actions. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** A screen: its title, which is also the document title, and its parts. */
export function Screen({ title, heading = title, state, aside, children }: ScreenProps) {
  useTitle(title)
  return (
    <div className={classes.screen}>
      <div className={classes.head}>
        <div className={classes.titles}>
          <h1>{heading}</h1>
          {state}
        </div>
        {aside && <div className={classes.aside}>{aside}</div>}
      </div>
      {children}
    </div>
  )
}

/** Filters that belong together, on a separate line. */
export function FilterRange({ children }: { readonly children: ReactNode }) {
  return <div className={classes.range}>{children}</div>
}

/** The filters of a list. */
export function Filters({ children }: { readonly children: ReactNode }) {
  return <search className={classes.filters}>{children}</search>
}
