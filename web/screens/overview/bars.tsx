/** A bar for each minute, of one or several parts on top of one another. Each says on hover what it stands for. */
import classes from './charts.module.css'

export interface BarPart {
  readonly key: string
  readonly value: number
  readonly colour: string
}

export interface Bar {
  readonly key: string
  readonly title: string
  readonly parts: readonly BarPart[]
}

const WIDTH = 600
const HEIGHT = 120
const GAP = 1.5
/** What happened once must not vanish beside what happened thousands of times. */
const LEAST_HEIGHT = 2

interface BarsProps {
  readonly bars: readonly Bar[]
  /** What the chart shows, as a sentence for those who do not see it. */
  readonly label: string
}

export function Bars({ bars, label }: BarsProps) {
  const highest = Math.max(1, ...bars.map(({ parts }) => sum(parts)))
  const step = WIDTH / bars.length
  return (
    <svg
      className={classes.chart}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bars.map(({ key, title, parts }, index) => (
        <g key={key} className={classes.bar}>
          <title>{title}</title>
          <rect className={classes.hit} x={index * step} y={0} width={step} height={HEIGHT} />
          {stack(parts, highest).map(({ key: part, colour, y, height }) => (
            <rect
              key={part}
              x={index * step + GAP / 2}
              y={y}
              width={step - GAP}
              height={height}
              fill={`var(${colour})`}
            />
          ))}
        </g>
      ))}
    </svg>
  )
}

const sum = (parts: readonly BarPart[]) => parts.reduce((total, { value }) => total + value, 0)

function stack(parts: readonly BarPart[], highest: number) {
  let top = HEIGHT
  return parts
    .filter(({ value }) => value > 0)
    .map(({ key, value, colour }) => {
      const height = Math.max(LEAST_HEIGHT, (value / highest) * (HEIGHT - LEAST_HEIGHT * parts.length))
      top -= height
      return { key, colour, y: top, height }
    })
}
