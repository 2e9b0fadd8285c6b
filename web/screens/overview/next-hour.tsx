import { Link } from '@tanstack/react-router'
import { formatClock, formatCount } from '../../../src/core/words/time.ts'
import type { Stats } from '../../api/overview.ts'
import { counted } from '../../components/count-words.ts'
import { useShownZone } from '../../components/instant.tsx'
import { Axis, barWords } from './axis.tsx'
import { Bars } from './bars.tsx'
import classes from './charts.module.css'

/** Planned runs, minute by minute, in the colour of scheduled runs because none has started yet. */
export function NextHour({ next }: { readonly next: Stats['next'] }) {
  const zone = useShownZone(null)
  const total = next.minutes.reduce((sum, { count }) => sum + count, 0)
  const prefix = next.atLeast ? 'at least ' : next.isEstimate ? 'about ' : ''
  const bars = next.minutes.map(({ at, count }) => ({
    key: at,
    title: `${formatClock(Date.parse(at), zone, 'minute')}: ${formatCount(count)} due`,
    parts: [{ key: 'due', value: count, fill: 'var(--scheduled)' }],
  }))
  return (
    <>
      <div className={classes.legend}>
        <Link to="/tasks" search={{ state: 'scheduled' }}>
          {prefix}
          {formatCount(total)} due
        </Link>
        <span className={classes.per}>{barWords(next.minutes)}</span>
      </div>
      <Bars
        bars={bars}
        label={`Due in the next 60 minutes: ${prefix}${counted(total, 'occurrence')}`}
        axis={<Axis steps={next.minutes} range="1h" />}
      />
    </>
  )
}
