import { formatClock, zoneWord } from '../../../src/core/words/time.ts'
import { useShownZone } from '../../components/instant.tsx'
import classes from './charts.module.css'

/** The instants that a chart begins and ends with, and their zone. */
export function Axis({ from, to }: { readonly from: string; readonly to: string }) {
  const zone = useShownZone(null)
  const clock = (at: string) => formatClock(Date.parse(at), zone, 'minute')
  return (
    <div className={classes.axis}>
      <span>{clock(from)}</span>
      <span>
        {clock(to)} {zoneWord(zone)}
      </span>
    </div>
  )
}

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
