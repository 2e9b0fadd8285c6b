import { formatDuration } from '../../../src/core/words/time.ts'
import type { Steps } from '../../api/overview.ts'
import type { ChartRange } from '../../app/router.tsx'
import { Axis, Key } from './axis.tsx'
import classes from './charts.module.css'
import { decadesOf, logHeight } from './log-scale.ts'
import { RANGE_WORDS } from './range-words.ts'

const WIDTH = 600
const HEIGHT = 120

interface LatenessChartProps {
  readonly steps: Steps
  readonly range: ChartRange
}

/** How late runs began, step by step, on a scale on which each line is ten times the one below. */
export function LatenessChart({ steps, range }: LatenessChartProps) {
  const known = steps.flatMap(({ latenessMs }) => (latenessMs === null ? [] : [latenessMs]))
  if (known.length === 0) return <p className={classes.empty}>Nothing has begun within this time.</p>
  const worst = Math.max(...known.map(({ p99 }) => p99))
  const decades = decadesOf(worst)
  const top = decades.at(-1) ?? 1
  const label = `${RANGE_WORDS[range]}: 99 % of the runs of each step began at most ${formatDuration(worst)} late`
  return (
    <>
      <div className={classes.legend}>
        <Key colour="--running">p50: half of the runs</Key>
        <Key colour="--retrying">p99 (dashed)</Key>
      </div>
      <div className={classes.scaled}>
        <div className={classes.scale} aria-hidden="true">
          {decades.toReversed().map((ms) => (
            <span key={ms}>{formatDuration(ms)}</span>
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
            {decades.map((ms) => {
              const y = HEIGHT - logHeight(ms, top) * HEIGHT
              return <path key={ms} className={classes.grid} d={`M0 ${y}H${WIDTH}`} />
            })}
            <path
              className={`${classes.line} ${classes.dashed}`}
              d={pathOf(steps, 'p99', top)}
              stroke="var(--retrying)"
            />
            <path className={classes.line} d={pathOf(steps, 'p50', top)} stroke="var(--running)" />
          </svg>
          <Axis steps={steps} range={range} />
        </div>
      </div>
    </>
  )
}

/** A line through the steps in which something began; a step wide where one stands alone. */
function pathOf(steps: Steps, field: 'p50' | 'p99', top: number): string {
  const step = WIDTH / steps.length
  return steps
    .map(({ latenessMs }, index) => {
      if (latenessMs === null) return ''
      const y = (HEIGHT - logHeight(latenessMs[field], top) * HEIGHT).toFixed(1)
      const isStart = index === 0 || steps[index - 1]?.latenessMs === null
      return `${isStart ? 'M' : 'L'}${(index * step).toFixed(1)} ${y}H${((index + 1) * step).toFixed(1)}`
    })
    .join('')
}
