import { formatDuration } from '../../../src/core/words/time.ts'
import type { Steps } from '../../api/overview.ts'
import type { ChartRange } from '../../app/router.tsx'
import { Axis, Key } from './axis.tsx'
import { Chart, HEIGHT, WIDTH } from './chart.tsx'
import classes from './charts.module.css'
import { RANGE_WORDS } from './range-words.ts'
import { decadesOf, logHeight } from './scales.ts'

interface LatenessChartProps {
  readonly steps: Steps
  readonly range: ChartRange
}

/** Lateness of runs in each step, on a logarithmic scale. */
export function LatenessChart({ steps, range }: LatenessChartProps) {
  const known = steps.flatMap(({ latenessMs }) => (latenessMs === null ? [] : [latenessMs]))
  if (known.length === 0) return <p className={classes.empty}>No runs started in this period.</p>
  const worst = Math.max(...known.map(({ p99 }) => p99))
  const decades = decadesOf(worst)
  const top = decades.at(-1) ?? 1
  const label = `Lateness, ${RANGE_WORDS[range]}: p99 is at most ${formatDuration(worst)} in each interval`
  return (
    <>
      <div className={classes.legend}>
        <Key colour="--running" look="line">
          p50 (median)
        </Key>
        <Key colour="--retrying" look="dashed">
          p99
        </Key>
      </div>
      <Chart
        label={label}
        lines={decades.map((ms) => ({ label: formatDuration(ms), height: logHeight(ms, top) }))}
        axis={<Axis steps={steps} range={range} />}
      >
        <path
          className={`${classes.line} ${classes.dashed}`}
          d={pathOf(steps, 'p99', top)}
          stroke="var(--retrying)"
        />
        <path className={classes.line} d={pathOf(steps, 'p50', top)} stroke="var(--running)" />
      </Chart>
    </>
  )
}

/** A line through the steps in which a run started; a horizontal dash for a step without neighbours. */
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
