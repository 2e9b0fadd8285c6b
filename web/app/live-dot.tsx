import { useLiveState } from './live.ts'
import classes from './live-dot.module.css'

const WORDS = {
  live: 'live',
  'catching-up': 'catching up',
  unavailable: 'live updates unavailable',
  offline: 'offline',
} as const

/** Indicates whether the data on the page is live. */
export function LiveDot() {
  const state = useLiveState()
  return (
    <span className={classes.live} data-state={state} role="status">
      <span className={classes.dot} aria-hidden="true" />
      <span className={classes.word}>{WORDS[state]}</span>
    </span>
  )
}
