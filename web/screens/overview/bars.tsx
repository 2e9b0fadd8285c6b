/** A bar for each step, of one or several parts on top of one another. Each says on hover what it stands for. */
import type { ReactNode } from 'react'
import { formatCount } from '../../../src/core/words/time.ts'
import { Chart, HEIGHT, WIDTH } from './chart.tsx'
import classes from './charts.module.css'
import { countsTo } from './scales.ts'

export interface BarPart {
  readonly key: string
  readonly value: number
  readonly fill: string
  /** Drawn around it, where it is not filled. */
  readonly stroke?: string
}

export interface Bar {
  readonly key: string
  readonly title: string
  readonly parts: readonly BarPart[]
}

const GAP = 1.5
/** What happened once must not vanish beside what happened thousands of times. */
const LEAST_HEIGHT = 2

interface BarsProps {
  readonly bars: readonly Bar[]
  /** What the chart shows, as a sentence for those who do not see it. */
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
