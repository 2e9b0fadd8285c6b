import { type ReactNode, useId } from 'react'
import classes from './panel.module.css'

interface PanelProps {
  readonly title: string
  /** Shown at the end of the heading's line. */
  readonly aside?: ReactNode
  readonly flush?: boolean
  readonly children: ReactNode
}

/** A titled part of a screen. A flush panel has no padding, for tables. */
export function Panel({ title, aside, flush, children }: PanelProps) {
  const id = useId()
  return (
    <section className={classes.panel} aria-labelledby={id}>
      <div className={classes.head}>
        <h2 id={id}>{title}</h2>
        {aside && <div className={classes.push}>{aside}</div>}
      </div>
      {flush ? children : <div className={classes.body}>{children}</div>}
    </section>
  )
}

/** Placeholder rows of a list that is loading. */
export function Bones({ count }: { readonly count: number }) {
  return (
    <div className={classes.bones} role="status" aria-label="Loading">
      {Array.from({ length: count }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: they are all the same and never move.
        <div key={row} className={classes.bone} />
      ))}
    </div>
  )
}

/** Preformatted text that scrolls when it is long. */
export function CodeBlock({ text, label }: { readonly text: string; readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <pre className={classes.code} role="region" aria-label={label} tabIndex={0}>
      {text}
    </pre>
  )
}
