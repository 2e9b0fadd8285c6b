import { Link } from '@tanstack/react-router'
import { formatClock, formatCount } from '../../../src/core/words/time.ts'
import type { Stats } from '../../api/overview.ts'
import { useShownZone } from '../../components/instant.tsx'
import { LOOKS } from '../../components/state.ts'
import { Axis, Key } from './axis.tsx'
import { Bars } from './bars.tsx'
import classes from './charts.module.css'

type Minutes = Stats['minutes']

const PARTS = [
  { field: 'completed', state: 'completed' },
  { field: 'permanentlyFailed', state: 'permanently_failed' },
  { field: 'skipped', state: 'skipped' },
  { field: 'cancelled', state: 'cancelled' },
] as const

/** What ended in each minute, and how. */
export function ThroughputChart({ minutes }: { readonly minutes: Minutes }) {
  const zone = useShownZone(null)
  const totals = PARTS.map((part) => ({
    ...part,
    total: minutes.reduce((sum, minute) => sum + minute[part.field], 0),
  }))
  const said = totals.map(({ state, total }) => `${formatCount(total)} ${LOOKS[state].word}`).join(', ')
  const bars = minutes.map((minute) => ({
    key: minute.at,
    title: `${formatClock(Date.parse(minute.at), zone, 'minute')}: ${wordsOf(minute)}`,
    parts: PARTS.map(({ field, state }) => ({
      key: field,
      value: minute[field],
      colour: LOOKS[state].colour,
    })),
  }))
  return (
    <>
      <div className={classes.legend}>
        {totals.map(({ field, state, total }) => (
          <Key key={field} colour={LOOKS[state].colour}>
            <Link to="/runs" search={{ state, since: '1h' }}>
              {formatCount(total)} {LOOKS[state].word}
            </Link>
          </Key>
        ))}
      </div>
      <Bars bars={bars} label={`Runs that ended in the last 60 minutes: ${said}`} />
      <Axis from={minutes[0]?.at ?? ''} to={minutes.at(-1)?.at ?? ''} />
    </>
  )
}

function wordsOf(minute: Minutes[number]): string {
  if (!minute.isCounted) return 'not counted'
  const words = PARTS.filter(({ field }) => minute[field] > 0).map(
    ({ field, state }) => `${formatCount(minute[field])} ${LOOKS[state].word}`,
  )
  return words.length === 0 ? 'nothing' : words.join(', ')
}
