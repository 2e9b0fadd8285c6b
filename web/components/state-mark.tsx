import { type AnyState, LOOKS, type Shape } from './state.ts'
import classes from './state-mark.module.css'

interface StateMarkProps {
  readonly state: AnyState
  /** Shown in place of the state's name, such as the reason for a skip. */
  readonly text?: string
}

/** Shows a state as a shape and a word. */
export function StateMark({ state, text }: StateMarkProps) {
  const { word, colour } = LOOKS[state]
  return (
    <span className={classes.mark} style={{ color: `var(${colour})` }}>
      <StateShape state={state} />
      <span>{text ?? word}</span>
    </span>
  )
}

/** The shape alone, for places where the word is shown beside it. */
export function StateShape({ state }: { readonly state: AnyState }) {
  const { shape, colour, moves } = LOOKS[state]
  return (
    <svg
      className={moves ? `${classes.shape} ${classes.moving}` : classes.shape}
      style={{ color: `var(${colour})` }}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      {SHAPES[shape]}
    </svg>
  )
}

const line = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.8, strokeLinecap: 'round' as const }
const ring = <circle cx="8" cy="8" r="5.6" {...line} />

const SHAPES: Readonly<Record<Shape, React.ReactNode>> = {
  ring,
  quarter: (
    <>
      {ring}
      <path d="M8 8V2.400A5.6 5.6 0 0 1 13.6 8Z" fill="currentColor" />
    </>
  ),
  half: (
    <>
      {ring}
      <path d="M8 2.400a5.6 5.6 0 0 1 0 11.200Z" fill="currentColor" />
    </>
  ),
  disc: <circle cx="8" cy="8" r="5" fill="currentColor" />,
  again: (
    <>
      <path d="M13 8a5 5 0 1 1-1.6-3.7" {...line} />
      <path d="M13.4 2v3.200h-3.2" {...line} strokeLinejoin="round" />
    </>
  ),
  check: <path d="m3 8.6 3.4 3.400L13 4.6" {...line} strokeWidth={2.2} strokeLinejoin="round" />,
  cross: <path d="m4 4 8 8m0-8-8 8" {...line} strokeWidth={2.2} />,
  barred: (
    <>
      {ring}
      <path d="m4.2 11.8 7.6-7.6" {...line} />
    </>
  ),
  alert: (
    <>
      <path d="M8 2.600v6.6" {...line} strokeWidth={2.4} />
      <circle cx="8" cy="12.8" r="1.4" fill="currentColor" />
    </>
  ),
  dash: <path d="M3.6 8h8.8" {...line} strokeWidth={2.2} />,
  bars: <path d="M5.6 3.400v9.200m4.8-9.200v9.2" {...line} strokeWidth={2.4} />,
}
