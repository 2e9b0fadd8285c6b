import { formatDuration } from '../../../src/core/words/time.ts'
import type { Stats } from '../../api/overview.ts'
import { Axis, Key } from './axis.tsx'
import classes from './charts.module.css'
import { decadesOf, logHeight } from './log-scale.ts'

type Minutes = Stats['minutes']

const WIDTH = 600
const HEIGHT = 120

/** How late runs began, minute by minute, on a scale on which each line is ten times the one below. */
export function LatenessChart({ minutes }: { readonly minutes: Minutes }) {
  const known = minutes.flatMap(({ latenessMs }) => (latenessMs === null ? [] : [latenessMs]))
  if (known.length === 0) return <p className={classes.empty}>Nothing has begun within this hour.</p>
  const worst = Math.max(...known.map(({ p99 }) => p99))
  const decades = decadesOf(worst)
  const top = decades.at(-1) ?? 1
  const label = `In the last 60 minutes 99 % of the runs of each minute began at most ${formatDuration(worst)} late`
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
              d={pathOf(minutes, 'p99', top)}
              stroke="var(--retrying)"
            />
            <path className={classes.line} d={pathOf(minutes, 'p50', top)} stroke="var(--running)" />
          </svg>
          <Axis from={minutes[0]?.at ?? ''} to={minutes.at(-1)?.at ?? ''} />
        </div>
      </div>
    </>
  )
}

/** A line through the minutes in which something began; a step wide where a minute stands alone. */
function pathOf(minutes: Minutes, field: 'p50' | 'p99', top: number): string {
  const step = WIDTH / minutes.length
  return minutes
    .map(({ latenessMs }, index) => {
      if (latenessMs === null) return ''
      const y = (HEIGHT - logHeight(latenessMs[field], top) * HEIGHT).toFixed(1)
      const isStart = index === 0 || minutes[index - 1]?.latenessMs === null
      return `${isStart ? 'M' : 'L'}${(index * step).toFixed(1)} ${y}H${((index + 1) * step).toFixed(1)}`
    })
    .join('')
}
