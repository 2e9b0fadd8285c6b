/** A bar chart with one stacked bar for each step, described on hover. */
import type { ReactNode } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { Chart, HEIGHT, WIDTH } from './chart.tsx'
import classes from './charts.module.css'
import { countsTo } from './scales.ts'

export interface BarPart {
  readonly key: string
  readonly value: number
  readonly fill: string
  /** Colour of the outline of a part that is not filled. */
  readonly stroke?: string
}

export interface Bar {
  readonly key: string
  readonly title: string
  readonly parts: readonly BarPart[]
}

const GAP = 1.5
/** A single event must stay visible beside thousands. */
const LEAST_HEIGHT = 2

interface BarsProps {
  readonly bars: readonly Bar[]
  /** A description of the chart for screen readers. */
  readonly label: string
  readonly axis: ReactNode
}

export function Bars({ bars, label, axis }: BarsProps) {
  const counts = countsTo(Math.max(1, ...bars.map(({ parts }) => sum(parts))))
  const top = counts.at(-1) ?? 1
  const step = WIDTH / bars.length
  return (
    <Chart
      label={label}
      lines={counts.map((count) => ({ label: formatCount(count), height: count / top }))}
      axis={axis}
    >
      {bars.map(({ key, title, parts }, index) => (
        <g key={key} className={classes.bar}>
          <title>{title}</title>
          <rect className={classes.hit} x={index * step} y={0} width={step} height={HEIGHT} />
          {stack(parts, top).map(({ key: part, fill, stroke, y, height }) => (
            <rect
              key={part}
              className={classes.part}
              x={index * step + GAP / 2}
              y={y}
              width={step - GAP}
              height={height}
              fill={fill}
              stroke={stroke}
            />
          ))}
        </g>
      ))}
    </Chart>
  )
}

const sum = (parts: readonly BarPart[]) => parts.reduce((total, { value }) => total + value, 0)

function stack(parts: readonly BarPart[], top: number) {
  let y = HEIGHT
  return parts
    .filter(({ value }) => value > 0)
    .map((part) => {
      const height = Math.max(LEAST_HEIGHT, (part.value / top) * HEIGHT)
      y -= height
      return { ...part, y, height }
    })
}
