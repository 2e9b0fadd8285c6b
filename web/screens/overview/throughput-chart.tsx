import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../src/core/words/time.ts'
import type { Steps } from '../../api/overview.ts'
import type { ChartRange } from '../../app/router.tsx'
import { useShownZone } from '../../components/instant.tsx'
import { LOOKS } from '../../components/state.ts'
import { Axis, Key, stepWords } from './axis.tsx'
import { Bars } from './bars.tsx'
import classes from './charts.module.css'
import { RANGE_WORDS } from './range-words.ts'

const PARTS = [
  { field: 'completed', state: 'completed' },
  { field: 'permanentlyFailed', state: 'permanently_failed' },
  { field: 'skipped', state: 'skipped' },
  { field: 'cancelled', state: 'cancelled' },
] as const

/** The list of runs knows no five hours; a day holds them. */
const SINCE = { '1h': '1h', '5h': '24h', '24h': '24h', '7d': '7d' } as const

interface ThroughputChartProps {
  readonly steps: Steps
  readonly range: ChartRange
}

/** What ended in each step, and how. */
export function ThroughputChart({ steps, range }: ThroughputChartProps) {
  const zone = useShownZone(null)
  const totals = PARTS.map((part) => ({
    ...part,
    total: steps.reduce((sum, step) => sum + step[part.field], 0),
  }))
  const said = totals.map(({ state, total }) => `${formatCount(total)} ${LOOKS[state].word}`).join(', ')
  const bars = steps.map((step) => ({
    key: step.at,
    title: `${stepWords(step.at, zone, range)}: ${wordsOf(step)}`,
    parts: PARTS.map(({ field, state }) => ({
      key: field,
      value: step[field],
      colour: LOOKS[state].colour,
    })),
  }))
  return (
    <>
      <div className={classes.legend}>
        {totals.map(({ field, state, total }) => (
          <Key key={field} colour={LOOKS[state].colour}>
            <Link to="/runs" search={{ state, since: SINCE[range] }}>
              {formatCount(total)} {LOOKS[state].word}
            </Link>
          </Key>
        ))}
      </div>
      <Bars bars={bars} label={`Runs that ended, ${RANGE_WORDS[range]}: ${said}`} />
      <Axis steps={steps} range={range} />
    </>
  )
}

function wordsOf(step: Steps[number]): string {
  if (!step.isCounted) return 'not counted'
  const words = PARTS.filter(({ field }) => step[field] > 0).map(
    ({ field, state }) => `${formatCount(step[field])} ${LOOKS[state].word}`,
  )
  return words.length === 0 ? 'nothing' : words.join(', ')
}
