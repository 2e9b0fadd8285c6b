import type { ReactNode } from 'react'
import classes from './charts.module.css'

/** How charts are drawn, whatever their size on the screen. */
export const WIDTH = 600
export const HEIGHT = 120

/** A line across a chart: what it stands for, and how high it is, from 0 to 1. */
export interface ChartLine {
  readonly label: string
  readonly height: number
}

interface ChartProps {
  /** What the chart shows, as a sentence for those who do not see it. */
  readonly label: string
  readonly lines: readonly ChartLine[]
  readonly axis: ReactNode
  readonly children: ReactNode
}

/** A drawing over lines that say how much is how high. */
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
