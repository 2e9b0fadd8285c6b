import type { ReactNode } from 'react'
import classes from './charts.module.css'

/** Internal coordinates of charts, independent of their size on the screen. */
export const WIDTH = 600
export const HEIGHT = 120

/** A horizontal grid line: its label and its height, from 0 to 1. */
export interface ChartLine {
  readonly label: string
  readonly height: number
}

interface ChartProps {
  /** A description of the chart for screen readers. */
  readonly label: string
  readonly lines: readonly ChartLine[]
  readonly axis: ReactNode
  readonly children: ReactNode
}

/** A drawing over labelled grid lines. */
export function Chart({ label, lines, axis, children }: ChartProps) {
  return (
    <div className={classes.scaled}>
      <div className={classes.scale} aria-hidden="true">
        {lines.map(({ label, height }) => (
          <span key={label} style={{ bottom: `${height * 100}%` }}>
            {label}
          </span>
        ))}
      </div>
      <div>
        <svg
          className={classes.chart}
          viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
          preserveAspectRatio="none"
          role="img"
          aria-label={label}
        >
          {lines.map(({ label, height }) => (
            <path key={label} className={classes.grid} d={`M0 ${HEIGHT - height * HEIGHT}H${WIDTH}`} />
          ))}
          {children}
        </svg>
        {axis}
      </div>
    </div>
  )
}
