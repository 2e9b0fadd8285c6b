import { formatClock, formatInstant, zoneWord } from '../../../src/core/words/time.ts'
import type { ChartRange } from '../../app/router.tsx'
import { useShownZone } from '../../components/instant.tsx'
import { serverNow } from '../../time/clock.ts'
import classes from './charts.module.css'

interface AxisProps {
  readonly steps: readonly { readonly at: string }[]
  readonly range: ChartRange
}

/** Instants that a chart begins, goes half way and ends with, and their zone. */
export function Axis({ steps, range }: AxisProps) {
  const zone = useShownZone(null)
  const [first, middle, last] = [steps[0], steps[Math.floor(steps.length / 2)], steps.at(-1)]
  if (!first || !middle || !last) return null
  return (
    <div className={classes.axis}>
      <span>{tick(first.at, zone, range)}</span>
      <span>{tick(middle.at, zone, range)}</span>
      <span>
        {tick(last.at, zone, range)} {zoneWord(zone)}
      </span>
    </div>
  )
}

/** The day is said where a chart shows more than one. */
function tick(at: string, zone: string, range: ChartRange): string {
  const ms = Date.parse(at)
  if (range === '1h' || range === '5h') return formatClock(ms, zone, 'minute')
  return formatInstant(ms, zone, { now: serverNow() }).replace(` ${zoneWord(zone)}`, '')
}

/** When a step began, as it is said on hover. */
export const stepWords = (at: string, zone: string, range: ChartRange): string =>
  `${range === '1h' ? '' : 'from '}${tick(at, zone, range)} ${zoneWord(zone)}`

interface KeyProps {
  readonly colour: string
  readonly children: React.ReactNode
}

export function Key({ colour, children }: KeyProps) {
  return (
    <span className={classes.key}>
      <span className={classes.swatch} style={{ background: `var(${colour})` }} aria-hidden="true" />
      {children}
    </span>
  )
}
