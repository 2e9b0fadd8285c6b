import { Link } from '@tanstack/react-router'
import { formatCount } from '../../../src/core/words/time.ts'
import type { Steps } from '../../api/overview.ts'
import type { ChartRange } from '../../app/router.tsx'
import { HATCHED } from '../../components/hatching.tsx'
import { useShownZone } from '../../components/instant.tsx'
import { LOOKS } from '../../components/state.ts'
import { Axis, barWords, Key, stepWords } from './axis.tsx'
import { type BarPart, Bars } from './bars.tsx'
import classes from './charts.module.css'
import { RANGE_WORDS } from './range-words.ts'

const PARTS = [
  { field: 'completed', state: 'completed', look: 'solid' },
  { field: 'permanentlyFailed', state: 'permanently_failed', look: 'solid' },
  { field: 'skipped', state: 'skipped', look: 'hatched' },
  { field: 'cancelled', state: 'cancelled', look: 'hollow' },
] as const

/** Two states are grey: one is hatched, the other hollow. */
function paintOf({ state, look }: (typeof PARTS)[number]): Pick<BarPart, 'fill' | 'stroke'> {
  const colour = `var(${LOOKS[state].colour})`
  if (look === 'hatched') return { fill: HATCHED }
  return look === 'hollow' ? { fill: 'none', stroke: colour } : { fill: colour }
}

/** The list of runs has no filter of five hours, so the link uses a day. */
const SINCE = { '1h': '1h', '5h': '24h', '24h': '24h', '7d': '7d' } as const

interface ThroughputChartProps {
  readonly steps: Steps
  readonly range: ChartRange
}

/** How many runs ended in each step, by result. */
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
    parts: PARTS.map((part) => ({ key: part.field, value: step[part.field], ...paintOf(part) })),
  }))
  return (
    <>
      <div className={classes.legend}>
        {totals.map(({ field, state, look, total }) => (
          <Key key={field} colour={LOOKS[state].colour} look={look}>
            <Link to="/runs" search={{ state, since: SINCE[range] }}>
              {formatCount(total)} {LOOKS[state].word}
            </Link>
          </Key>
        ))}
        <span className={classes.per}>{barWords(steps)}</span>
      </div>
      <Bars
        bars={bars}
        label={`Ended runs, ${RANGE_WORDS[range]}: ${said}`}
        axis={<Axis steps={steps} range={range} />}
      />
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
