import type { ReactNode } from 'react'
import classes from './screen.module.css'
import { useTitle } from './title.ts'

interface ScreenProps {
  readonly title: string
  /** Below the title: how it stands. */
  readonly state?: ReactNode
  /** Beside the title: a word about it, or what can be done. */
  readonly aside?: ReactNode
  readonly children: ReactNode
}

/** A screen: its title, also in the browser's tab, and its parts below one another. */
export function Screen({ title, state, aside, children }: ScreenProps) {
  useTitle(title)
  return (
    <div className={classes.screen}>
      <div className={classes.head}>
        <div className={classes.titles}>
          <h1>{title}</h1>
          {state}
        </div>
        {aside && <div className={classes.aside}>{aside}</div>}
      </div>
      {children}
    </div>
  )
}

/** What a list is narrowed down by. */
export function Filters({ children }: { readonly children: ReactNode }) {
  return <search className={classes.filters}>{children}</search>
}
