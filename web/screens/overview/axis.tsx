import { HOUR_MS, MINUTE_MS } from '../../../src/core/values/time-units.ts'
import { formatClock, formatInstant, zoneWord } from '../../../src/core/words/time.ts'
import type { ChartRange } from '../../app/router.tsx'
import { useShownZone } from '../../components/instant.tsx'
import { serverNow } from '../../time/clock.ts'
import classes from './charts.module.css'

interface AxisProps {
  readonly steps: readonly { readonly at: string }[]
  readonly range: ChartRange
}

/** The first, middle and last instant of a chart, and their zone. */
export function Axis({ steps, range }: AxisProps) {
  const zone = useShownZone(null)
  const [first, middle, last] = [steps[0], steps[Math.floor(steps.length / 2)], steps.at(-1)]
  if (!first || !middle || !last) return null
  return (
    <div className={classes.axis} data-days={range === '24h' || range === '7d' || undefined}>
      <span>{tick(first.at, zone, range)}</span>
      <span>{tick(middle.at, zone, range)}</span>
      <span>
        {tick(last.at, zone, range)} {zoneWord(zone)}
      </span>
    </div>
  )
}

/** Shows the day if the chart covers more than one. */
function tick(at: string, zone: string, range: ChartRange): string {
  const ms = Date.parse(at)
  if (range === '1h' || range === '5h') return formatClock(ms, zone, 'minute')
  return formatInstant(ms, zone, { now: serverNow() }).replace(` ${zoneWord(zone)}`, '')
}

/** When a step began, shown on hover. */
export const stepWords = (at: string, zone: string, range: ChartRange): string =>
  `${range === '1h' ? '' : 'from '}${tick(at, zone, range)} ${zoneWord(zone)}`

/** The duration that each bar covers. */
export function barWords(steps: AxisProps['steps']): string {
  const ms = Date.parse(steps[1]?.at ?? '') - Date.parse(steps[0]?.at ?? '')
  if (Number.isNaN(ms)) return ''
  const [count, unit] = ms < HOUR_MS ? [ms / MINUTE_MS, 'minute'] : [ms / HOUR_MS, 'hour']
  return `${count} ${unit}${count === 1 ? '' : 's'} per bar`
}

interface KeyProps {
  readonly colour: string
  /** How the entry of the legend is drawn. */
  readonly look?: 'solid' | 'hatched' | 'hollow' | 'line' | 'dashed'
  readonly children: React.ReactNode
}

export function Key({ colour, look = 'solid', children }: KeyProps) {
  return (
    <span className={classes.key}>
      <span
        className={classes.swatch}
        data-look={look}
        style={{ color: `var(${colour})` }}
        aria-hidden="true"
      />
      {children}
    </span>
  )
}
